-- propose: stores a secret if there is none of this name.
INSERT INTO secret (name, text) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- find: returns a secret.
SELECT text FROM secret WHERE name = ?;
