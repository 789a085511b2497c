//! A bar chart as server-side SVG. Sizes are attributes; colors come from the style sheet.

/// The size of the view box. The browser scales it to the width of the page.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 200.0;
/// Margins: numbers are on the left, labels below the bars.
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 20.0;
const TOP: f64 = 10.0;
/// How many labels fit below the bars.
const MAX_LABELS: usize = 8;

/// The data of one bar.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// The text below the bar; empty for none. If there are too many labels, some are left out.
    pub label: String,
    /// The tooltip.
    pub tooltip: String,
    pub value: i64,
    /// The part of `value` that is drawn in the second color.
    pub part: i64,
}

/// A rectangle of the chart.
#[derive(Debug)]
pub struct Rect {
    pub x: String,
    pub y: String,
    pub width: String,
    pub height: String,
    /// Whether it has the second color.
    pub is_part: bool,
    pub tooltip: String,
}

/// A horizontal grid line with its value.
#[derive(Debug)]
pub struct Line {
    pub y: String,
    pub text_y: String,
    pub number: i64,
}

/// A label below a bar.
#[derive(Debug)]
pub struct Label {
    pub x: String,
    pub text: String,
}

/// A chart, ready for the template.
#[derive(Debug)]
pub struct Chart {
    pub rects: Vec<Rect>,
    pub lines: Vec<Line>,
    pub labels: Vec<Label>,
}

impl Chart {
    pub const VIEW_BOX: &'static str = "0 0 720 200";
    pub const LEFT: &'static str = "44";
    pub const RIGHT: &'static str = "720";
    pub const LABELS_AT: &'static str = "195";

    /// Lays out the bars from left to right.
    pub fn new(bars: &[Bar]) -> Self {
        let top = round_up(bars.iter().map(|bar| bar.value).max().unwrap_or(0));
        let step = (WIDTH - LEFT) / usize_to_f64(bars.len().max(1));
        let plot_height = HEIGHT - TOP - BOTTOM;
        let height = |value: i64| plot_height * to_f64(value) / to_f64(top);
        let mut rects = Vec::new();
        for (index, bar) in bars.iter().enumerate().filter(|(_, bar)| bar.value > 0) {
            let x = LEFT + step * usize_to_f64(index) + step * 0.1;
            for (value, is_part) in [(bar.value, false), (bar.part, true)] {
                if value > 0 {
                    // Even the smallest value stays visible.
                    let height = height(value).max(1.5);
                    rects.push(Rect {
                        x: format_coordinate(x),
                        y: format_coordinate(HEIGHT - BOTTOM - height),
                        width: format_coordinate(step * 0.8),
                        height: format_coordinate(height),
                        is_part,
                        tooltip: bar.tooltip.clone(),
                    });
                }
            }
        }
        let line = |value: i64| {
            let y = HEIGHT - BOTTOM - height(value);
            Line { y: format_coordinate(y), text_y: format_coordinate(y + 3.5), number: value }
        };
        let values = [0, top / 2, top];
        let lines = values.into_iter().filter(|value| *value != 0 || top > 0).map(line).collect();
        let labeled: Vec<_> =
            bars.iter().enumerate().filter(|(_, bar)| !bar.label.is_empty()).collect();
        let label = |(index, bar): &(usize, &Bar)| Label {
            x: format_coordinate(LEFT + step * usize_to_f64(*index) + step * 0.1),
            text: bar.label.clone(),
        };
        let every = labeled.len().div_ceil(MAX_LABELS).max(1);
        let labels = labeled.iter().step_by(every).map(label).collect();
        Self { rects, lines, labels }
    }
}

/// The next round number: 2, 4, 10, 20, 40, 100 and so on.
fn round_up(value: i64) -> i64 {
    let mut step: i64 = 1;
    loop {
        for round in [2, 4, 10] {
            if step.saturating_mul(round) >= value {
                return step.saturating_mul(round);
            }
        }
        step = step.saturating_mul(10);
    }
}

/// Rounding of large values does not matter here: charts are no more exact than a pixel.
#[expect(clippy::cast_precision_loss, reason = "a chart is no more exact than a pixel")]
fn to_f64(value: i64) -> f64 {
    value as f64
}

fn usize_to_f64(value: usize) -> f64 {
    to_f64(i64::try_from(value).unwrap_or(i64::MAX))
}

fn format_coordinate(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_ends_at_a_round_number() {
        let pairs = [(0, 2), (1, 2), (3, 4), (5, 10), (11, 20), (41, 100), (4001, 10_000)];
        for (value, round) in pairs {
            assert_eq!(round_up(value), round, "{value}");
        }
        assert_eq!(round_up(i64::MAX), i64::MAX);
    }

    #[test]
    fn bars_stay_within_the_view_box() {
        let bar = |value, part| Bar { value, part, ..Bar::default() };
        let chart = Chart::new(&[bar(0, 0), bar(100, 25), bar(1, 0)]);
        assert_eq!(chart.rects.len(), 3);
        let heights: Vec<_> = chart.rects.iter().map(|rect| rect.height.as_str()).collect();
        assert_eq!(heights, ["170.0", "42.5", "1.7"]);
        assert_eq!(chart.rects[0].y, "10.0");
        assert!(chart.rects[1].is_part && !chart.rects[0].is_part);
        assert_eq!(chart.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [0, 50, 100]);
        assert!(Chart::new(&[]).rects.is_empty());
        let labeled = |value| Bar { label: "x".to_owned(), ..bar(value, 0) };
        let week: Vec<_> = (0..168).map(labeled).collect();
        assert_eq!(Chart::new(&week).labels.len(), MAX_LABELS);
        assert_eq!(Chart::new(&[labeled(1), bar(2, 0), labeled(3)]).labels.len(), 2);
    }
}
