-- propose: keeps a text under a name that has none.
INSERT INTO secret (name, text) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- find: the text of a name.
SELECT text FROM secret WHERE name = ?;
