export function writePage() {
  return []
}
