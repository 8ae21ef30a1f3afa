import { killAt } from './suite.js';

killAt('unsigned');
