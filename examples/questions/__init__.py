"""A shop over a broker: questions and answers, orders and payments, and who reads it all."""
