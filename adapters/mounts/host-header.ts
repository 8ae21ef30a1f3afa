/** The host of a request: a name or an IPv6 address, possibly with a port. */
export const HOST = /^(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/i;
