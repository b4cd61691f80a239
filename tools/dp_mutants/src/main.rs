//! Puts many small changes, each with a number, into a copy of a source, so that one build has all of them:
//! `crate::mutant::on("mutant 7;")` says at run time whether the seventh counts. What is in a library can be found by
//! these texts.
//!
//! `dp_mutants FOLDER <LIST` rewrites the files of the list in this folder. A line of the list has a number, a file,
//! what kind of change it is, the line and the column where it begins, and what takes the place, between tabs: as
//! cargo-mutants lists them. Around each change stands its number in comments, `/*<7,8*/` and `/*>*/`, by which what
//! does not compile is found.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use proc_macro2::{LineColumn, Span};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Block, Expr, ExprBinary, ExprUnary, ImplItemFn, ItemFn, UnOp};

/// A change of the list.
struct Mutant {
    number: u32,
    kind: String,
    replacement: String,
}

/// The changes of a file, by the line and the column, from 1, where they begin.
type Listed = BTreeMap<(usize, usize), Vec<Mutant>>;

/// A piece of text that goes in. Of pieces at one place, ends of what stands before it come first, the innermost of
/// them first, and then beginnings, the outermost first.
struct Edit {
    place: usize,
    order: isize,
    /// The text that it replaces, in bytes.
    instead_of: usize,
    text: String,
}

#[derive(Default)]
struct Edits {
    listed: Listed,
    edits: Vec<Edit>,
    depth: isize,
}

fn key(at: LineColumn) -> (usize, usize) {
    (at.line, at.column + 1)
}

fn bytes(of: &impl Spanned) -> Range<usize> {
    of.span().byte_range()
}

/// Whether an expression binds names, which only stand in the condition of an `if` or `while`.
fn binds(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        _ => false,
    }
}

fn on(number: u32) -> String {
    format!("crate::mutant::on(\"mutant {number};\")")
}

/// `if on(7) { ... } else if on(8) { ... } else { usual }`.
fn choice(mutants: &[Mutant], of: impl Fn(&Mutant) -> String, usual: &str) -> String {
    let ifs = mutants
        .iter()
        .map(|mutant| format!("if {} {{ {} }} else ", on(mutant.number), of(mutant)));
    format!("{}{{ {usual} }}", ifs.collect::<String>())
}

impl Edits {
    /// The changes of this kind that begin here.
    fn listed(&mut self, at: Span, kind: &str) -> Vec<Mutant> {
        let Some(all) = self.listed.get_mut(&key(at.start())) else {
            return Vec::new();
        };
        let (found, others) = std::mem::take(all)
            .into_iter()
            .partition(|m| m.kind == kind);
        *all = others;
        found
    }

    /// Puts text before and after a part of the file, with the numbers of the changes.
    fn wrap(&mut self, range: Range<usize>, before: &str, after: &str, mutants: &[Mutant]) {
        let numbers: Vec<_> = mutants.iter().map(|m| m.number.to_string()).collect();
        let before = format!("/*<{}*/{before}", numbers.join(","));
        let after = format!("{after}/*>*/");
        if range.is_empty() {
            return self.put(range.start, 0, 0, before + &after);
        }
        self.put(range.start, self.depth + 1, 0, before);
        self.put(range.end, -self.depth - 1, 0, after);
    }

    fn put(&mut self, place: usize, order: isize, instead_of: usize, text: String) {
        self.edits.push(Edit {
            place,
            order,
            instead_of,
            text,
        });
    }

    fn binary(&mut self, node: &ExprBinary) {
        let mutants = self.listed(node.op.span(), "BinaryOperator");
        let usual = &node.op;
        if mutants.is_empty() || binds(&node.left) || binds(&node.right) {
            return;
        }
        let operator = bytes(usual);
        let between = |this: &mut Self, text: String| {
            this.put(operator.start, 0, operator.len(), text);
        };
        match usual {
            // The left side decides alone where it is false; with || where it is true.
            BinOp::And(_) | BinOp::Or(_) => {
                let [mutant] = &mutants[..] else { return };
                let sign = if matches!(usual, BinOp::And(_)) {
                    "=="
                } else {
                    "!="
                };
                let decides = format!("; if __l {sign} {} {{ __l }} else {{ ", on(mutant.number));
                between(self, decides);
                self.wrap(bytes(node), "({ let __l: bool = ", " } })", &mutants);
            }
            BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_) => {
                let usual = operator_text(usual);
                let ways = choice(
                    &mutants,
                    |m| format!("*__l {} __r", m.replacement),
                    &format!("*__l {usual} __r"),
                );
                between(self, "; let __r = ".to_owned());
                self.wrap(
                    bytes(node),
                    "{ let __l = &mut ",
                    &format!("; {ways} }}"),
                    &mutants,
                );
            }
            _ => {
                let usual = operator_text(usual);
                let ways = choice(
                    &mutants,
                    |m| format!("*__l {} *__r", m.replacement),
                    &format!("*__l {usual} *__r"),
                );
                between(self, "), &(".to_owned());
                let after = format!(")) {{ (__l, __r) => {ways} }})");
                self.wrap(bytes(node), "(match (&(", &after, &mutants);
            }
        }
    }

    fn body(&mut self, block: &Block) {
        let open = block.brace_token.span.open();
        let first = block
            .stmts
            .first()
            .map(|statement| key(statement.span().start()));
        let places = [Some(key(open.start())), first];
        let mut mutants = Vec::new();
        for place in places.into_iter().flatten() {
            if let Some(all) = self.listed.get_mut(&place) {
                let (found, others): (Vec<_>, Vec<_>) = std::mem::take(all)
                    .into_iter()
                    .partition(|m| m.kind == "FnValue");
                *all = others;
                mutants.extend(found);
            }
        }
        let at = open.byte_range().end;
        for mutant in mutants {
            let text = format!(
                "if {} {{ return {}; }}",
                on(mutant.number),
                mutant.replacement
            );
            let text = format!("/*<{}*/{text}/*>*/", mutant.number);
            self.put(at, 0, 0, text);
        }
    }
}

/// An operator as it is written.
fn operator_text(operator: &BinOp) -> String {
    operator.span().source_text().unwrap_or_default()
}

impl<'a> Visit<'a> for Edits {
    fn visit_expr_binary(&mut self, node: &'a ExprBinary) {
        self.binary(node);
        self.depth += 1;
        visit::visit_expr_binary(self, node);
        self.depth -= 1;
    }

    fn visit_expr_unary(&mut self, node: &'a ExprUnary) {
        let mutants = self.listed(node.op.span(), "UnaryOperator");
        if let [mutant] = &mutants[..] {
            let (operand, operator) = (bytes(&node.expr), bytes(&node.op));
            let ways = match node.op {
                UnOp::Not(_) => format!("; __x == {} }})", on(mutant.number)),
                _ => format!("; if {} {{ __x }} else {{ -__x }} }})", on(mutant.number)),
            };
            self.put(
                operator.start,
                self.depth + 2,
                operator.len(),
                String::new(),
            );
            self.wrap(
                operator.start..operand.end,
                "({ let __x = ",
                &ways,
                &mutants,
            );
        }
        self.depth += 3;
        visit::visit_expr_unary(self, node);
        self.depth -= 3;
    }

    fn visit_arm(&mut self, arm: &'a Arm) {
        let guard = arm.guard.as_ref().map(|(_, guard)| guard.as_ref());
        let deleted = self.listed(arm.span(), "MatchArm");
        let set = guard.map_or(Vec::new(), |guard| {
            self.listed(guard.span(), "MatchArmGuard")
        });
        let all: Vec<Mutant> = deleted.into_iter().chain(set).collect();
        let of = |is_true: bool, text: &str, after: &str| -> String {
            let chosen = all
                .iter()
                .filter(|mutant| (mutant.replacement == "true") == is_true);
            chosen
                .map(|mutant| format!("{text}{}{after}", on(mutant.number)))
                .collect()
        };
        let before = format!("{}({}", of(false, "!", " && "), of(true, "", " || "));
        match guard {
            _ if all.is_empty() => {}
            Some(guard) if binds(guard) => {}
            Some(guard) => self.wrap(bytes(guard), &format!("{before}("), "))", &all),
            None => {
                let after = bytes(&arm.pat).end;
                self.wrap(after..after, &format!(" if {before}"), "true)", &all);
            }
        }
        self.depth += 1;
        visit::visit_arm(self, arm);
        self.depth -= 1;
    }

    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        self.body(&function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        self.body(&function.block);
        visit::visit_impl_item_fn(self, function);
    }
}

/// The file with its changes.
fn rewritten(text: &str, listed: Listed) -> Result<String, syn::Error> {
    let file = syn::parse_file(text)?;
    let mut edits = Edits {
        listed,
        ..Edits::default()
    };
    edits.visit_file(&file);
    let mut edits = edits.edits;
    // The sort is stable: of edits alike the first one comes first.
    edits.sort_by_key(|edit| (edit.place, edit.order));
    let (mut written, mut copied) = (String::new(), 0);
    for edit in edits {
        written += &text[copied..edit.place.max(copied)];
        written += &edit.text;
        copied = copied.max(edit.place + edit.instead_of);
    }
    written += &text[copied..];
    Ok(written)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("dp_mutants FOLDER <LIST")?;
    let mut files: BTreeMap<String, Listed> = BTreeMap::new();
    for line in io::stdin().lines() {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, file, kind, row, column, replacement] = fields[..] else {
            return Err(format!("not a line of the list: {line}").into());
        };
        let place = (row.parse()?, column.parse()?);
        let mutants = files.entry(file.to_owned()).or_default();
        mutants.entry(place).or_default().push(Mutant {
            number: number.parse()?,
            kind: kind.to_owned(),
            replacement: replacement.to_owned(),
        });
    }
    for (file, listed) in files {
        let path = Path::new(&folder).join(&file);
        let text = rewritten(&fs::read_to_string(&path)?, listed)
            .map_err(|error| format!("{file}: {error}"))?;
        fs::write(&path, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with these changes: kind, line, column and replacement, from number 1 on.
    fn changed(text: &str, changes: &[(&str, usize, usize, &str)]) -> String {
        let mut listed = Listed::new();
        for (number, (kind, row, column, replacement)) in (1..).zip(changes) {
            let mutant = Mutant {
                number,
                kind: (*kind).to_owned(),
                replacement: (*replacement).to_owned(),
            };
            listed.entry((*row, *column)).or_default().push(mutant);
        }
        let written = rewritten(text, listed).expect("it is Rust");
        syn::parse_file(&written).expect("it is Rust still");
        written
            .replace("crate::mutant::", "")
            .replace("\"mutant ", "")
            .replace(";\"", "")
    }

    #[test]
    fn each_side_is_computed_once() {
        let text = "fn f() -> bool { g() == 1 && h() }";
        let written = changed(
            text,
            &[
                ("BinaryOperator", 1, 27, "||"),
                ("BinaryOperator", 1, 22, "!="),
            ],
        );
        assert_eq!(
            written,
            "fn f() -> bool { /*<1*/({ let __l: bool = /*<2*/(match (&(g() ), &( 1)) { (__l, __r) => \
             if on(2) { *__l != *__r } else { *__l == *__r } })/*>*/ ; if __l == on(1) { __l } else {  h() } })/*>*/ }"
        );
        let written = changed("fn f() { n += g(); }", &[("BinaryOperator", 1, 12, "-=")]);
        assert_eq!(
            written,
            "fn f() { /*<1*/{ let __l = &mut n ; let __r =  g(); if on(1) { *__l -= __r } else { *__l += __r } }/*>*/; }"
        );
        let written = changed("fn f() { !g() }", &[("UnaryOperator", 1, 10, "")]);
        assert_eq!(
            written,
            "fn f() { /*<1*/({ let __x = g(); __x == on(1) })/*>*/ }"
        );
    }

    #[test]
    fn bodies_and_arms_have_their_changes_first() {
        let written = changed(
            "fn f() -> u8 { 7 }",
            &[("FnValue", 1, 16, "0"), ("FnValue", 1, 16, "1")],
        );
        assert_eq!(
            written,
            "fn f() -> u8 {/*<1*/if on(1) { return 0; }/*>*//*<2*/if on(2) { return 1; }/*>*/ 7 }"
        );
        let text = "fn f() { match x { 1 if y => 2, 3 => 4, _ => 5 } }";
        let changes = [
            ("MatchArm", 1, 20, ""),
            ("MatchArmGuard", 1, 25, "true"),
            ("MatchArmGuard", 1, 25, "false"),
            ("MatchArm", 1, 33, ""),
        ];
        assert_eq!(
            changed(text, &changes),
            "fn f() { match x { 1 if /*<1,2,3*/!on(1) && !on(3) && (on(2) || (y))/*>*/ => 2, \
             3/*<4*/ if !on(4) && (true)/*>*/ => 4, _ => 5 } }"
        );
    }
}
