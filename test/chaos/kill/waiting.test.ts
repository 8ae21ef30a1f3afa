import { killAt } from './suite.js';

killAt('waiting');
