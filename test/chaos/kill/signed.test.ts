import { killAt } from './suite.js';

killAt('signed');
