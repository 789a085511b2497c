//! The order of the entries of a competition, and what separates them.
