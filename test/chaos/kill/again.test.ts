import { killAt } from './suite.js';

killAt('again');
