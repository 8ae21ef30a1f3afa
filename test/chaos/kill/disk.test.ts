import { killAt } from './suite.js';

killAt('disk');
