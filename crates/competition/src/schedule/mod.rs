//! Pairings of tournaments, and where and when the games are played.
