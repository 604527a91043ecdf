//! From phonemes to token ids and chunks.
//!
//! The rules are specified in `docs/native.md`, and both this module and the Python package are
//! tested against one table of vectors.

pub mod splitting;

use std::collections::HashMap;
use std::fmt;

/// A code point of the input that has no token id and is not fed to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSymbol {
    /// The code point.
    pub symbol: char,
    /// Its index in the phonemes, in code points.
    pub position: usize,
}

impl fmt::Display for UnknownSymbol {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Combining marks and control characters would garble the line.
        if !splitting::is_mark(self.symbol) && !self.symbol.is_control() {
            write!(out, "'{}' ", self.symbol)?;
        }
        write!(out, "U+{:04X} at {}", u32::from(self.symbol), self.position)
    }
}

/// Marks and spaces that have no symbol in the model and of which nothing is lost when they are left
/// out: they are not reported, but count in the length that chooses a voice's row.
const SILENT_MARKS: &str = "¿¡[]{}«»·‘’～\u{a0}\u{202f}\u{329}\u{32a}";

/// Maps code points to token ids.
#[derive(Clone, Debug)]
pub struct Vocabulary(HashMap<char, i64>);

impl Vocabulary {
    /// The `vocab` of a configuration.
    pub fn new(ids: HashMap<char, i64>) -> Vocabulary {
        Vocabulary(ids)
    }

    /// Whether a symbol has a token id.
    pub fn contains(&self, symbol: char) -> bool {
        self.0.contains_key(&symbol)
    }

    /// The ids of the known symbols in order, and the unknown symbols but for silent marks with their
    /// positions, of which the first is `start`.
    pub fn encode(&self, phonemes: &[char], start: usize) -> (Vec<i64>, Vec<UnknownSymbol>) {
        let (mut ids, mut unknown) = (Vec::new(), Vec::new());
        for (index, &symbol) in phonemes.iter().enumerate() {
            match self.0.get(&symbol) {
                Some(&id) => ids.push(id),
                None if SILENT_MARKS.contains(symbol) => {}
                None => unknown.push(UnknownSymbol { symbol, position: start + index }),
            }
        }
        (ids, unknown)
    }
}

/// Whether a code point is a space, as Python's `str.isspace` has it.
pub fn is_space(symbol: char) -> bool {
    symbol.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&symbol)
}

/// The text with a space in place of each end of a line, as Python's `str.splitlines` has them.
pub fn join_lines(text: &str) -> String {
    let is_end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.strip_suffix(is_end).unwrap_or(&text).split(is_end).collect();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_symbols_are_shown_without_garbling_the_line() {
        let show = |symbol, position| UnknownSymbol { symbol, position }.to_string();
        assert_eq!(show('g', 3), "'g' U+0067 at 3");
        assert_eq!(show('\u{301}', 0), "U+0301 at 0");
        assert_eq!(show('\u{7}', 1), "U+0007 at 1");
    }

    #[test]
    fn silent_marks_are_not_reported() {
        let vocabulary = Vocabulary::new(HashMap::from([('a', 7)]));
        let phonemes: Vec<char> = "¿a«g»\u{202f}\u{329}".chars().collect();
        let unknown = UnknownSymbol { symbol: 'g', position: 5 };
        assert_eq!(vocabulary.encode(&phonemes, 2), (vec![7], vec![unknown]));
    }

    #[test]
    fn lines_are_joined() {
        let table = [("a\nb\r\nc\r", "a b c"), ("a\n\nb", "a  b"), ("", ""), ("a\u{2028}b", "a b")];
        for (text, joined) in table {
            assert_eq!(join_lines(text), joined, "{text:?}");
        }
    }

    #[test]
    fn spaces_are_those_of_python() {
        let spaces: Vec<u32> =
            (0..=0x10ffff).filter(|&c| char::from_u32(c).is_some_and(is_space)).collect();
        let expected: Vec<u32> = (9..=13)
            .chain(28..=32)
            .chain([0x85, 0xa0, 0x1680])
            .chain(0x2000..=0x200a)
            .chain([0x2028, 0x2029, 0x202f, 0x205f, 0x3000])
            .collect();
        assert_eq!(spaces, expected);
    }
}
