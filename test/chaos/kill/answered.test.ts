import { killAt } from './suite.js';

killAt('answered');
