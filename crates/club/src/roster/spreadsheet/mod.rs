//! People pasted from a spreadsheet: splits the text into cells, guesses what each column contains, and converts each row
//! to a new member.

pub mod column;
pub mod date;
pub mod row;
pub mod table;
