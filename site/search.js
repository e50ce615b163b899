/** How the site's search orders what it finds: guides before the many members of the API. A test searches with it, too. */
export const searchOptions = { boostDocument: (id) => (id.startsWith('/api/') ? 0.05 : 1) }
