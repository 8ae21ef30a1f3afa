/** Static methods that ES2021 or Node 16 lacks; TypeScript's libraries declare some of them. */
const NEWER_STATICS = {
  'Object.hasOwn': 'Missing in ES2021: use Object.prototype.hasOwnProperty.call.',
  'Object.groupBy': 'Missing before Node 21.',
  'AbortSignal.any': 'Missing in Node 16: combine with addEventListener.',
  'AbortSignal.timeout': 'Missing in Node 16: combine with a timer.',
  'Promise.withResolvers': 'Missing before Node 22.',
  'URL.canParse': 'Missing before Node 19.9.',
  'Array.fromAsync': 'Missing before Node 22.',
};
const NEWER_METHODS =
  /^(at|findLast|findLastIndex|toSorted|toReversed|toSpliced|isWellFormed|toWellFormed)$/;

const newerThanNode16 = {
  create: (context) => ({
    MemberExpression(node) {
      const message = NEWER_STATICS[`${node.object.name}.${node.property.name}`];
      if (message !== undefined) context.report({ node, message });
    },
    'CallExpression > MemberExpression.callee'(node) {
      if (NEWER_METHODS.test(node.property.name))
        context.report({ node, message: 'Missing in ES2021.' });
    },
  }),
};

/** A plugin for oxlint. */
export default {
  meta: { name: 'runtimes' },
  rules: { 'newer-than-node-16': newerThanNode16 },
};
