//! Splits pasted text into rows and cells. Spreadsheets copy cells separated by tabs; files use commas or semicolons.

/// Maximum number of columns. Further ones are ignored.
pub const MAX_COLUMNS: usize = 40;

/// How many lines decide between comma and semicolon.
const SAMPLE_LINES: usize = 20;

/// The rows of a pasted table, all of the same length. Rows without content are left out.
pub fn split(text: &str) -> Vec<Vec<String>> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let separator = separator(&text);
    let mut rows = vec![Vec::new()];
    let mut rest = text.as_str();
    loop {
        let (cell, after) = parse_quoted(rest, separator).unwrap_or_else(|| {
            let end = rest.find([separator, '\n']).unwrap_or(rest.len());
            (rest[..end].to_owned(), &rest[end..])
        });
        if let Some(row) = rows.last_mut() {
            row.push(cell.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        let mut next = after.chars();
        match next.next() {
            None => break,
            Some('\n') => rows.push(Vec::new()),
            Some(_) => {}
        }
        rest = next.as_str();
    }
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    let used =
        |row: &Vec<String>| row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at + 1);
    let columns = rows.iter().map(used).max().unwrap_or_default().min(MAX_COLUMNS);
    for row in &mut rows {
        row.resize(columns, String::new());
    }
    rows
}

/// The character between the cells: a tab if there is any, otherwise the one that most lines have in common.
fn separator(text: &str) -> char {
    if text.contains('\t') {
        return '\t';
    }
    let lines = || text.lines().filter(|line| !line.trim().is_empty()).take(SAMPLE_LINES);
    let least = |separator: char| lines().map(|line| line.matches(separator).count()).min();
    let total =
        |separator: char| lines().map(|line| line.matches(separator).count()).sum::<usize>();
    let score = |separator: char| (least(separator).unwrap_or_default(), total(separator));
    if score(';') > score(',') { ';' } else { ',' }
}

/// A quoted cell and what follows it. `None` if the cell is not quoted, or the quote does not end it.
fn parse_quoted(text: &str, separator: char) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut cell = String::new();
    loop {
        let end = rest.find('"')?;
        cell.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        let Some(after) = rest.strip_prefix('"') else { break };
        cell.push('"');
        rest = after;
    }
    let is_end = rest.is_empty() || rest.starts_with([separator, '\n']);
    is_end.then_some((cell, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_split_at_the_separator_of_the_text() {
        let cases = [
            ("Ana Costa\t7\r\nBo\t\r\n\t\n", vec![vec!["Ana Costa", "7"], vec!["Bo", ""]]),
            ("\u{feff}a;b,c\nd;e", vec![vec!["a", "b,c"], vec!["d", "e"]]),
            ("Costa, Ana\nSand, Otto", vec![vec!["Costa", "Ana"], vec!["Sand", "Otto"]]),
            ("Ana\nBo", vec![vec!["Ana"], vec!["Bo"]]),
            ("\"a, \"\"b\"\"\nc\",d", vec![vec!["a, \"b\" c", "d"]]),
            ("\"Speedy\" Lee,7\n\"open,8", vec![vec!["\"Speedy\" Lee", "7"], vec!["\"open", "8"]]),
            ("=1+1,@x", vec![vec!["=1+1", "@x"]]),
        ];
        for (text, rows) in cases {
            assert_eq!(split(text), rows, "{text}");
        }
        assert!(split(" \n\t\n").is_empty() && split("").is_empty());
        assert_eq!(split(&",x".repeat(500))[0].len(), MAX_COLUMNS);
    }
}
