import { killAt } from './suite.js';

killAt('swap');
