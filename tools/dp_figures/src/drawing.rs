//! How all figures look: axes, grid, marks, error bars, legend. Nothing here knows what is drawn.
//!
//! Each series has a colour, a mark and a kind of line of its own, so that it is reported apart without
//! colour. The colours are those of Okabe and Ito 2008, which the colour-blind tell apart. The
//! ground is white, because a page may be dark.

use std::error::Error;

use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::estimate::Estimate;

pub const BLACK: RGBColor = RGBColor(0, 0, 0);
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);
pub const PURPLE: RGBColor = RGBColor(204, 121, 167);

/// Points of the drawing library in a unit of the page. It knows whole points only, which would
/// show as steps in a curve.
const FINE: u32 = 8;

/// Sizes, in units of the page.
const FONT: u32 = 13;
const TITLE: u32 = 15;
const LEGEND_LINE: f64 = 19.0;
const LEGEND_SAMPLE: f64 = 34.0;
const TITLE_LINE: f64 = 24.0;
const MARGIN: f64 = 10.0;
/// Of a letter of the family that readers have, on average; a little wide, so that nothing
/// overlaps.
const LETTER: f64 = 0.53;

/// How numbers lie along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Linear,
    Log,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    pub label: &'static str,
    pub scale: Scale,
    pub from: f64,
    pub to: f64,
    /// Where there are numbers, and what they say.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Evenly spaced numbers, written as short as they are.
    pub fn linear(label: &'static str, from: f64, to: f64, ticks: &[f64]) -> Self {
        Self {
            label,
            scale: Scale::Linear,
            from,
            to,
            ticks: ticks.iter().map(|x| (*x, plain(*x))).collect(),
        }
    }

    /// Evenly spaced factors.
    pub fn log(label: &'static str, from: f64, to: f64, ticks: &[f64]) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label, from, to, ticks)
        }
    }

    /// With powers of ten for numbers.
    pub fn decades(label: &'static str, from: f64, to: f64) -> Self {
        let (low, high) = (from.log10().ceil() as i32, to.log10().floor() as i32);
        let ticks = (low..=high).map(|power| (10f64.powi(power), power_of_ten(power)));
        Self {
            label,
            scale: Scale::Log,
            from,
            to,
            ticks: ticks.collect(),
        }
    }

    fn place(&self, x: f64) -> f64 {
        match self.scale {
            Scale::Linear => x,
            Scale::Log => x.log10(),
        }
    }

    fn holds(&self, x: f64) -> bool {
        let slack = 1e-9 * (self.place(self.to) - self.place(self.from));
        x.is_finite()
            && self.place(x) >= self.place(self.from) - slack
            && self.place(x) <= self.place(self.to) + slack
    }

    /// Grid lines between the numbers of a logarithmic axis: 2 to 9 times a power of ten.
    fn minor(&self) -> Vec<f64> {
        if self.scale == Scale::Linear {
            return Vec::new();
        }
        let decades = self.from.log10().floor() as i32..=self.to.log10().floor() as i32;
        let lines = decades
            .flat_map(|power| (2..10).map(move |digit| f64::from(digit) * 10f64.powi(power)));
        lines.filter(|x| self.holds(*x)).map(f64::log10).collect()
    }
}

/// `10000` as `10,000`; `0.5` as it is.
fn plain(x: f64) -> String {
    let text = x.to_string();
    if x.fract() != 0.0 || x < 1e4 {
        return text.replace('-', "\u{2212}");
    }
    let digits = text.len();
    let mut out = String::new();
    for (place, digit) in text.chars().enumerate() {
        if place > 0 && (digits - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn power_of_ten(power: i32) -> String {
    match power {
        0 => return "1".to_owned(),
        1 => return "10".to_owned(),
        _ => {}
    }
    let digits = power.to_string();
    let raised = digits.chars().map(|c| match c {
        '-' => '\u{207b}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        other => char::from_u32(0x2070 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
    });
    format!("10{}", raised.collect::<String>())
}

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dash {
    Solid,
    Dashed,
    Dotted,
}

impl Dash {
    /// Lengths drawn and left out, in units of the page.
    fn pattern(self) -> Option<(f64, f64)> {
        match self {
            Self::Solid => None,
            Self::Dashed => Some((7.0, 4.0)),
            Self::Dotted => Some((1.8, 3.2)),
        }
    }
}

/// The mark of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    None,
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
}

/// How a series looks.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub colour: RGBColor,
    pub dash: Dash,
    pub mark: Mark,
}

impl Style {
    pub const fn new(colour: RGBColor, dash: Dash, mark: Mark) -> Self {
        Self { colour, dash, mark }
    }
}

/// One thing that is drawn: a line, points, or both.
#[derive(Clone, Debug)]
pub struct Series {
    /// For the legend; a series without a name is not in it.
    pub name: &'static str,
    pub style: Style,
    pub line: Vec<[f64; 2]>,
    pub points: Vec<(f64, Estimate)>,
    /// Whether the points' intervals of 95% are a band around a line through them, not bars.
    pub band: bool,
}

impl Series {
    /// A line.
    pub fn line(name: &'static str, style: Style, line: Vec<[f64; 2]>) -> Self {
        Self {
            name,
            style,
            line,
            points: Vec::new(),
            band: false,
        }
    }

    /// Points with bars of two standard errors to each side.
    pub fn points(name: &'static str, style: Style, points: Vec<(f64, Estimate)>) -> Self {
        Self {
            name,
            style,
            line: Vec::new(),
            points,
            band: false,
        }
    }

    /// The line that the points are expected on.
    pub fn expected(mut self, line: Vec<[f64; 2]>) -> Self {
        self.line = line;
        self
    }
}

/// Words in a panel, with their left end here.
#[derive(Clone, Debug)]
pub struct Note {
    pub at: [f64; 2],
    pub text: String,
    pub colour: RGBColor,
}

/// Axes and what is between them.
#[derive(Clone, Debug)]
pub struct Panel {
    pub title: &'static str,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    pub notes: Vec<Note>,
    /// A curve to shade the ground under, in the unit of the axes.
    pub silhouette: Vec<[f64; 2]>,
}

/// Panels side by side, that many in a row.
#[derive(Clone, Debug)]
pub struct Picture {
    pub panels: Vec<Panel>,
    pub columns: usize,
    /// Of one panel, in units of the page.
    pub width: u32,
    pub height: u32,
}

type Plane<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Ticked, Ticked>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn = Result<(), Box<dyn Error>>;

impl Picture {
    /// The whole SVG file.
    pub fn svg(&self) -> Result<String, Box<dyn Error>> {
        let rows = self.panels.len().div_ceil(self.columns);
        let (width, height) = (self.width * self.columns as u32, self.height * rows as u32);
        let mut svg = String::new();
        {
            let size = (width * FINE, height * FINE);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&WHITE)?;
            let areas = root.split_evenly((rows, self.columns));
            for (row, areas) in self
                .panels
                .chunks(self.columns)
                .zip(areas.chunks(self.columns))
            {
                // Axes side by side are at one height, whatever is above them.
                let head = row.iter().map(|panel| panel.head(self.width));
                let head = head.fold(0.0, f64::max);
                for (panel, area) in row.iter().zip(areas) {
                    panel.draw(area, self.width, head)?;
                }
            }
            root.present()?;
        }
        // The size on a page; the view box keeps the fine points.
        let fine = format!(r#"width="{}" height="{}""#, width * FINE, height * FINE);
        let page = format!(r#"width="{width}" height="{height}""#);
        if !svg.starts_with(&format!("<svg {fine}")) {
            return Err("the drawing library begins its files in another way".into());
        }
        Ok(svg.replacen(&fine, &page, 1))
    }
}

fn px(units: f64) -> i32 {
    (units * f64::from(FINE)).round() as i32
}

fn font<'a>(size: u32, colour: RGBColor) -> TextStyle<'a> {
    ("Helvetica, Arial, sans-serif", size * FINE)
        .into_font()
        .color(&colour)
}

fn stroke(colour: impl Color, width: f64) -> ShapeStyle {
    colour.stroke_width(px(width) as u32)
}

impl Panel {
    /// The height of title and legend.
    fn head(&self, width: u32) -> f64 {
        MARGIN + TITLE_LINE + self.legend(width).len() as f64 * LEGEND_LINE
    }

    fn draw(&self, area: &Area, width: u32, head: f64) -> Drawn {
        let (top, rest) = area.split_vertically(px(head));
        let style = font(TITLE, BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        top.draw(&Text::new(
            self.title,
            (px(MARGIN), px(MARGIN + 10.0)),
            style,
        ))?;
        for (row, entries) in self.legend(width).iter().enumerate() {
            let y = MARGIN + TITLE_LINE + (row as f64 + 0.4) * LEGEND_LINE;
            for (x, series) in entries {
                sample(&top, *x, y, series)?;
            }
        }
        self.plane(&rest)
    }

    /// The entries of the legend, broken into lines, each with its left end.
    fn legend(&self, width: u32) -> Vec<Vec<(f64, &Series)>> {
        let right = f64::from(width) - MARGIN;
        let mut lines: Vec<Vec<(f64, &Series)>> = Vec::new();
        let mut x = f64::INFINITY;
        for series in self.series.iter().filter(|series| !series.name.is_empty()) {
            let letters = series.name.chars().count() as f64 * LETTER * f64::from(FONT);
            let length = LEGEND_SAMPLE + 6.0 + letters + 14.0;
            if x + length > right {
                lines.push(Vec::new());
                x = MARGIN;
            }
            if let Some(line) = lines.last_mut() {
                line.push((x, series));
            }
            x += length;
        }
        lines
    }

    fn plane(&self, area: &Area) -> Drawn {
        let mut chart = ChartBuilder::on(area)
            .margin(px(MARGIN) as u32)
            .margin_right(px(24.0) as u32)
            .x_label_area_size(px(42.0) as u32)
            .y_label_area_size(px(58.0) as u32)
            .build_cartesian_2d(Ticked::new(&self.x), Ticked::new(&self.y))?;
        let (grid, fine) = (RGBColor(215, 215, 215), RGBColor(238, 238, 238));
        let mut mesh = chart.configure_mesh();
        mesh.bold_line_style(stroke(grid, 0.8))
            .light_line_style(stroke(fine, 0.6))
            .axis_style(stroke(RGBColor(60, 60, 60), 1.0))
            .label_style(font(FONT - 1, BLACK))
            .axis_desc_style(font(FONT, BLACK))
            .x_desc(self.x.label)
            .y_desc(self.y.label)
            .x_labels(100)
            .y_labels(100)
            .max_light_lines(20)
            .set_all_tick_mark_size(px(4.0));
        mesh.draw()?;
        self.shade(&mut chart)?;
        for series in &self.series {
            self.series(&mut chart, series)?;
        }
        for note in &self.notes {
            let style = font(FONT - 1, note.colour).pos(Pos::new(HPos::Left, VPos::Center));
            let at = self.at(note.at[0], note.at[1]);
            chart.draw_series([Text::new(note.text.clone(), at, style)])?;
        }
        Ok(())
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.place(x), self.y.place(y))
    }

    fn shade(&self, chart: &mut Plane) -> Drawn {
        let ([first, ..], [.., last]) = (&self.silhouette[..], &self.silhouette[..]) else {
            return Ok(());
        };
        let floor = self.y.from;
        let mut outline = vec![self.at(first[0], floor)];
        outline.extend(
            self.silhouette
                .iter()
                .map(|[x, y]| self.at(*x, y.max(floor))),
        );
        outline.push(self.at(last[0], floor));
        chart.draw_series([Polygon::new(outline, RGBColor(0, 0, 0).mix(0.07).filled())])?;
        Ok(())
    }

    fn series(&self, chart: &mut Plane, series: &Series) -> Drawn {
        let Style { colour, dash, mark } = series.style;
        if series.band {
            let edge = |sign: f64| {
                series
                    .points
                    .iter()
                    .map(move |(x, estimate)| (*x, estimate.value + sign * 1.96 * estimate.error))
            };
            let outline = edge(1.0).chain(edge(-1.0).collect::<Vec<_>>().into_iter().rev());
            let outline: Vec<_> = outline.map(|(x, y)| self.at(x, y)).collect();
            chart.draw_series([Polygon::new(outline, colour.mix(0.2).filled())])?;
        }
        let page = chart.plotting_area().strip_coord_spec();
        let (left, top) = page.get_pixel_range();
        let on_page = |[x, y]: [f64; 2]| {
            let (x, y) = chart.backend_coord(&self.at(x, y));
            (x - left.start, y - top.start)
        };
        let inside = |[x, y]: &[f64; 2]| self.x.holds(*x) && self.y.holds(*y);
        for piece in series.line.split(|point| !inside(point)) {
            let points: Vec<(i32, i32)> = piece.iter().copied().map(on_page).collect();
            strokes(&page, &points, dash, stroke(colour, 1.7))?;
        }
        for (x, estimate) in &series.points {
            if !self.x.holds(*x) || !self.y.holds(estimate.value) {
                continue;
            }
            let at = |y: f64| on_page([*x, y.clamp(self.y.from, self.y.to)]);
            let middle = at(estimate.value);
            if !series.band {
                let [top, bottom] = [2.0, -2.0].map(|z| at(estimate.value + z * estimate.error).1);
                bar(&page, middle.0, top, bottom, colour)?;
            }
            put(&page, middle, mark, colour)?;
        }
        Ok(())
    }
}

/// A line through points, broken as `dash` says.
fn strokes(area: &Area, points: &[(i32, i32)], dash: Dash, style: ShapeStyle) -> Drawn {
    if points.len() < 2 {
        return Ok(());
    }
    let Some((on, off)) = dash.pattern() else {
        area.draw(&PathElement::new(points.to_vec(), style))?;
        return Ok(());
    };
    let fine = f64::from(FINE);
    let (on, off) = (on * fine, off * fine);
    let (mut drawing, mut left) = (true, on);
    let mut piece = vec![points[0]];
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let at = (
                from.0 + (dx * done / length).round() as i32,
                from.1 + (dy * done / length).round() as i32,
            );
            piece.push(at);
            if drawing {
                area.draw(&PathElement::new(std::mem::take(&mut piece), style))?;
            }
            piece = vec![at];
            drawing = !drawing;
            left = if drawing { on } else { off };
        }
        left -= length - done;
        piece.push(to);
    }
    if drawing && piece.len() > 1 {
        area.draw(&PathElement::new(piece, style))?;
    }
    Ok(())
}

fn bar(area: &Area, x: i32, top: i32, bottom: i32, colour: RGBColor) -> Drawn {
    let style = stroke(colour, 1.1);
    area.draw(&PathElement::new(vec![(x, top), (x, bottom)], style))?;
    for y in [top, bottom] {
        let half = px(2.5);
        area.draw(&PathElement::new(vec![(x - half, y), (x + half, y)], style))?;
    }
    Ok(())
}

/// A mark, filled, with a white edge that keeps marks on top of each other apart.
fn put(area: &Area, (x, y): (i32, i32), mark: Mark, colour: RGBColor) -> Drawn {
    let round = |corners: &[(f64, f64)]| -> Vec<(i32, i32)> {
        corners
            .iter()
            .map(|(dx, dy)| (x + px(*dx), y + px(*dy)))
            .collect()
    };
    let polygon = |corners: &[(f64, f64)]| -> Drawn {
        let corners = round(corners);
        area.draw(&Polygon::new(corners.clone(), colour.filled()))?;
        let closed: Vec<_> = corners.iter().chain(&corners[..1]).copied().collect();
        area.draw(&PathElement::new(closed, stroke(WHITE, 0.6)))?;
        Ok(())
    };
    match mark {
        Mark::None => Ok(()),
        Mark::Circle => {
            area.draw(&Circle::new((x, y), px(3.5), colour.filled()))?;
            area.draw(&Circle::new((x, y), px(3.5), stroke(WHITE, 0.6)))?;
            Ok(())
        }
        Mark::Square => polygon(&[(-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)]),
        Mark::Triangle => polygon(&[(0.0, -4.4), (4.2, 3.0), (-4.2, 3.0)]),
        Mark::Diamond => polygon(&[(0.0, -4.6), (4.2, 0.0), (0.0, 4.6), (-4.2, 0.0)]),
        Mark::Cross => {
            for corners in [[(-3.2, -3.2), (3.2, 3.2)], [(-3.2, 3.2), (3.2, -3.2)]] {
                area.draw(&PathElement::new(round(&corners), stroke(colour, 1.7)))?;
            }
            Ok(())
        }
    }
}

/// An entry of the legend.
fn sample(area: &Area, x: f64, y: f64, series: &Series) -> Drawn {
    let Style { colour, dash, mark } = series.style;
    let middle = px(x + LEGEND_SAMPLE / 2.0);
    let ends = [(px(x), px(y)), (px(x + LEGEND_SAMPLE), px(y))];
    if series.band {
        let (top, bottom) = (px(y - 5.0), px(y + 5.0));
        let band = Rectangle::new(
            [(ends[0].0, top), (ends[1].0, bottom)],
            colour.mix(0.2).filled(),
        );
        area.draw(&band)?;
    }
    if !series.line.is_empty() {
        strokes(area, &ends, dash, stroke(colour, 1.7))?;
    }
    if !series.points.is_empty() {
        put(area, (middle, px(y)), mark, colour)?;
    }
    let style = font(FONT, BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    let at = (px(x + LEGEND_SAMPLE + 6.0), px(y));
    area.draw(&Text::new(series.name, at, style))?;
    Ok(())
}

/// An axis for the drawing library: places on it, with the ticks as its key points.
#[derive(Clone)]
struct Ticked {
    inner: RangedCoordf64,
    axis: Axis,
}

impl Ticked {
    fn new(axis: &Axis) -> Self {
        Self {
            inner: (axis.place(axis.from)..axis.place(axis.to)).into(),
            axis: axis.clone(),
        }
    }
}

impl Ranged for Ticked {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.inner.map(value, limit)
    }

    fn key_points<Hint: plotters::coord::ranged1d::KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return self.axis.minor();
        }
        let ticks = self.axis.ticks.iter().map(|(x, _)| self.axis.place(*x));
        ticks.collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.inner.range()
    }
}

impl ValueFormatter<f64> for Ticked {
    fn format_ext(&self, place: &f64) -> String {
        let here = |x: f64| (self.axis.place(x) - place).abs() < 1e-9;
        let tick = self.axis.ticks.iter().find(|(x, _)| here(*x));
        tick.map_or(String::new(), |(_, text)| text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_size_its_words_and_its_marks() {
        let style = Style::new(BLUE, Dash::Dashed, Mark::Circle);
        let estimate = |value| Estimate { value, error: 0.1 };
        let points = vec![
            (1.0, estimate(0.5)),
            (10.0, estimate(0.7)),
            (1e4, estimate(9.0)),
        ];
        let panel = Panel {
            title: "a title",
            x: Axis::decades("across", 0.5, 200.0),
            y: Axis::linear("up", -1.0, 1.0, &[-0.5, 0.5]),
            series: vec![
                Series::points("a name", style, points).expected(vec![[1.0, 0.0], [100.0, 0.5]]),
            ],
            notes: Vec::new(),
            silhouette: Vec::new(),
        };
        let picture = Picture {
            panels: vec![panel.clone(), panel],
            columns: 2,
            width: 300,
            height: 200,
        };
        let svg = picture.svg().unwrap();
        assert!(svg.starts_with(r#"<svg width="600" height="200" viewBox="0 0 4800 1600""#));
        let words: Vec<&str> = svg.lines().filter(|line| !line.starts_with('<')).collect();
        for word in [
            "a title",
            "a name",
            "across",
            "up",
            "1",
            "10",
            "10\u{b2}",
            "\u{2212}0.5",
            "0.5",
        ] {
            assert_eq!(
                words.iter().filter(|it| **it == word).count(),
                2,
                "{word}: {words:?}"
            );
        }
        // In each panel the marks inside and that of the legend, each with an edge.
        assert_eq!(svg.matches("<circle").count(), 2 * 2 * 3);
    }

    #[test]
    fn numbers_are_written_short() {
        for (x, text) in [
            (0.05, "0.05"),
            (-1.0, "\u{2212}1"),
            (3000.0, "3000"),
            (1e6, "1,000,000"),
        ] {
            assert_eq!(plain(x), text);
        }
        for (power, text) in [(0, "1"), (-4, "10\u{207b}\u{2074}"), (2, "10\u{b2}")] {
            assert_eq!(power_of_ten(power), text);
        }
    }
}
