import manifest from '../../package.json' with { type: 'json' };

/** The version of the package. */
export const { version } = manifest;
