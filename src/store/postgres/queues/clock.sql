-- now: returns the server's clock in milliseconds.
SELECT hk.micros() / 1000 AS ms;
