/**
 * Sets an entry as the newest of a map, and deletes the oldest entries beyond `most`. Returns the
 * value.
 */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, most: number): V {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
  return value;
}
