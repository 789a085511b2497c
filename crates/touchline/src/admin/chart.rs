//! A bar chart as SVG, drawn on the server: sizes are attributes, colours come from the style sheet.

/// The size of the drawing, in its own units; it is scaled to the width of the page.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 200.0;
/// Room for the numbers on the left, and for the labels below.
const LEFT: f64 = 44.0;
const BELOW: f64 = 20.0;
const ABOVE: f64 = 10.0;
/// So many labels fit below the bars.
const LABELS: usize = 8;

/// What one bar stands for.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// What is written below it, if it is one of those that are.
    pub label: String,
    /// What it stands for, said in full.
    pub told: String,
    /// Its height, and the part of it in the other colour.
    pub value: i64,
    pub part: i64,
}

/// A rectangle of the drawing.
#[derive(Debug)]
pub struct Rect {
    pub x: String,
    pub y: String,
    pub width: String,
    pub height: String,
    /// Whether it has the other colour.
    pub also: bool,
    pub told: String,
}

/// A line across with its number.
#[derive(Debug)]
pub struct Line {
    pub y: String,
    pub text_y: String,
    pub number: i64,
}

/// A label below.
#[derive(Debug)]
pub struct Label {
    pub x: String,
    pub text: String,
}

/// The drawing.
#[derive(Debug)]
pub struct Chart {
    pub rects: Vec<Rect>,
    pub lines: Vec<Line>,
    pub labels: Vec<Label>,
}

impl Chart {
    pub const VIEW: &'static str = "0 0 720 200";
    pub const LEFT: &'static str = "44";
    pub const RIGHT: &'static str = "720";
    pub const LABELS_AT: &'static str = "195";

    /// Draws bars from left to right.
    pub fn new(bars: &[Bar]) -> Self {
        let top = ceiling(bars.iter().map(|bar| bar.value).max().unwrap_or(0));
        let step = (WIDTH - LEFT) / count(bars.len().max(1));
        let tall = HEIGHT - ABOVE - BELOW;
        let height = |value: i64| tall * number(value) / number(top);
        let mut rects = Vec::new();
        for (place, bar) in bars.iter().enumerate().filter(|(_, bar)| bar.value > 0) {
            let x = LEFT + step * count(place) + step * 0.1;
            for (value, also) in [(bar.value, false), (bar.part, true)] {
                if value > 0 {
                    // Whatever is there can be seen.
                    let height = height(value).max(1.5);
                    rects.push(Rect {
                        x: text(x),
                        y: text(HEIGHT - BELOW - height),
                        width: text(step * 0.8),
                        height: text(height),
                        also,
                        told: bar.told.clone(),
                    });
                }
            }
        }
        let line = |number_: i64| {
            let y = HEIGHT - BELOW - height(number_);
            Line { y: text(y), text_y: text(y + 3.5), number: number_ }
        };
        let halves = [0, top / 2, top];
        let lines = halves.into_iter().filter(|half| *half != 0 || top > 0).map(line).collect();
        let named: Vec<_> =
            bars.iter().enumerate().filter(|(_, bar)| !bar.label.is_empty()).collect();
        let label = |(place, bar): &(usize, &Bar)| Label {
            x: text(LEFT + step * count(*place) + step * 0.1),
            text: bar.label.clone(),
        };
        let every = named.len().div_ceil(LABELS).max(1);
        let labels = named.iter().step_by(every).map(label).collect();
        Self { rects, lines, labels }
    }
}

/// The next round number: 2, 4, 10, 20, 40, 100 and so on.
fn ceiling(value: i64) -> i64 {
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

/// Charts show numbers far below those that a float rounds.
#[expect(clippy::cast_precision_loss, reason = "a drawing is not more exact than a pixel")]
fn number(value: i64) -> f64 {
    value as f64
}

fn count(value: usize) -> f64 {
    number(i64::try_from(value).unwrap_or(i64::MAX))
}

fn text(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_at_a_round_number() {
        let pairs = [(0, 2), (1, 2), (3, 4), (5, 10), (11, 20), (41, 100), (4001, 10_000)];
        for (value, round) in pairs {
            assert_eq!(ceiling(value), round, "{value}");
        }
        assert_eq!(ceiling(i64::MAX), i64::MAX);
    }

    #[test]
    fn bars_are_drawn_within_the_frame() {
        let bar = |value, part| Bar { value, part, ..Bar::default() };
        let chart = Chart::new(&[bar(0, 0), bar(100, 25), bar(1, 0)]);
        assert_eq!(chart.rects.len(), 3);
        let heights: Vec<_> = chart.rects.iter().map(|rect| rect.height.as_str()).collect();
        assert_eq!(heights, ["170.0", "42.5", "1.7"]);
        assert_eq!(chart.rects[0].y, "10.0");
        assert!(chart.rects[1].also && !chart.rects[0].also);
        assert_eq!(chart.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [0, 50, 100]);
        assert!(Chart::new(&[]).rects.is_empty());
        let named = |value| Bar { label: "x".to_owned(), ..bar(value, 0) };
        let many: Vec<_> = (0..168).map(named).collect();
        assert_eq!(Chart::new(&many).labels.len(), LABELS);
        assert_eq!(Chart::new(&[named(1), bar(2, 0), named(3)]).labels.len(), 2);
    }
}
