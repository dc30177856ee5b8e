"""The catalogue of algorithms, their proofs, and the decision tables that choose among them."""
