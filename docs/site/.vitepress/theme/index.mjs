import DefaultTheme from 'vitepress/theme';
import PaymentSteps from './PaymentSteps.vue';

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component('PaymentSteps', PaymentSteps),
};
