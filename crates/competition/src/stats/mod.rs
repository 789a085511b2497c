//! The statistics of each sport, and formulas over them.
