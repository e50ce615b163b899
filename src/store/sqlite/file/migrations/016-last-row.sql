-- What is known of the row that was added last, for who goes on with a file. NULL: nothing.
ALTER TABLE task ADD COLUMN last_row TEXT;
