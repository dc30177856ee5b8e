"""Decision tables in the formats of other MPIs: what omnes would choose, as far as they have such an algorithm."""
