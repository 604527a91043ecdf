//! Split a long string of phonemes into chunks that the model supports.
//!
//! The spans partition the input. Cuts are made at the end of a sentence; within a sentence that is
//! longer than the limit, at the end of a clause; within a longer clause, between words; and within
//! a longer word, anywhere but between a symbol and its mark. Among the allowed cuts, those are
//! chosen that give the fewest and most even chunks. Spaces stay with the text before them.

use super::{is_space, Vocabulary};

/// A half-open range of code points.
pub type Span = std::ops::Range<usize>;

const LEVELS: usize = 3;
/// The cost of a cut after a sentence, a clause, a word, and inside a word. The unevenness of a
/// chunk costs at most 1, so that one worse cut outweighs a few uneven chunks.
const CUT_COSTS: [f64; LEVELS + 1] = [0.0, 2.0, 6.0, 20.0];
const EMPTY_CHUNK_COST: f64 = 1e6;

/// Whether a code point is of one of Unicode's blocks of combining diacritical marks.
pub fn is_mark(symbol: char) -> bool {
    matches!(symbol,
        '\u{300}'..='\u{36f}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}')
}

fn binds_to_next(symbol: char) -> bool {
    matches!(symbol, 'ˈ' | 'ˌ')
}

fn binds_to_previous(symbol: char) -> bool {
    matches!(symbol, 'ː' | 'ʰ' | 'ʲ' | 'ᵝ') || is_mark(symbol)
}

fn ends_sentence(symbol: char) -> bool {
    matches!(symbol, '.' | '!' | '?' | '…')
}

fn ends_clause(symbol: char) -> bool {
    ends_sentence(symbol) || matches!(symbol, ',' | ';' | ':' | '—')
}

fn closes(symbol: char) -> bool {
    matches!(symbol, '"' | '”' | ')')
}

/// A run of symbols that is not cut further, and the cost of a cut before it.
#[derive(Clone, Copy)]
struct Atom {
    end: usize,
    cut_cost: f64,
}

/// The input with running counts of the symbols that are fed to the model.
struct Splitter<'a> {
    phonemes: &'a [char],
    limit: usize,
    fed: Vec<usize>,
    speakable: Vec<usize>,
}

impl Splitter<'_> {
    fn count(&self, start: usize, end: usize) -> usize {
        self.fed[end] - self.fed[start]
    }

    /// Whether a cut before position `cut` would separate a mark from its symbol.
    fn separates_mark(&self, cut: usize) -> bool {
        binds_to_next(self.phonemes[cut - 1]) || binds_to_previous(self.phonemes[cut])
    }

    /// The ends of the pieces of a level between `start` and `end`, in order.
    fn pieces(&self, level: usize, start: usize, end: usize) -> Vec<usize> {
        let run = |from: usize, is: fn(char) -> bool| {
            (from..end).find(|&at| !is(self.phonemes[at])).unwrap_or(end)
        };
        let mut ends = Vec::new();
        let mut at = start;
        while at < end {
            let symbol = self.phonemes[at];
            // The end of a piece, or where to look next.
            let found = match level {
                0 if ends_sentence(symbol) => {
                    let stops = run(at, ends_sentence);
                    let marks = run(stops, closes);
                    let spaces = run(marks, is_space);
                    // A stop inside a word ends no sentence.
                    if spaces > marks || spaces == end {
                        Ok(spaces)
                    } else {
                        Err(stops)
                    }
                }
                1 if ends_clause(symbol) => Ok(run(run(run(at, ends_clause), closes), is_space)),
                1 if closes(symbol) => {
                    // The symbol before may lie before `start`: it is looked at, not cut at.
                    let marks = run(at, closes);
                    let before_space = marks < end && is_space(self.phonemes[marks]);
                    if !before_space {
                        Err(marks)
                    } else if at > 0 && !is_space(self.phonemes[at - 1]) {
                        Ok(run(marks, is_space))
                    } else {
                        Err(at + 1)
                    }
                }
                2 if is_space(symbol) => Ok(run(at, is_space)),
                _ => Err(at + 1),
            };
            at = match found {
                Ok(piece) => {
                    ends.push(piece);
                    piece
                }
                Err(next) => next,
            };
        }
        ends
    }

    /// Pieces of at most `limit` symbols, cut at `level`, or at lower levels if too long.
    fn atoms(&self, start: usize, end: usize, level: usize, cut_cost: f64, out: &mut Vec<Atom>) {
        if self.count(start, end) <= self.limit {
            out.push(Atom { end, cut_cost });
        } else if level == LEVELS {
            self.hard_atoms(start, end, cut_cost, out);
        } else {
            let mut cuts: Vec<usize> = self
                .pieces(level, start, end)
                .into_iter()
                .filter(|&cut| start < cut && cut < end && !self.separates_mark(cut))
                .collect();
            cuts.push(end);
            let (mut from, mut cost) = (start, cut_cost);
            for cut in cuts {
                self.piece_atoms(from, cut, level, cost, out);
                (from, cost) = (cut, CUT_COSTS[level]);
            }
        }
    }

    /// Split a piece further, moving trailing spaces to the next one if only they do not fit.
    fn piece_atoms(&self, start: usize, end: usize, level: usize, cost: f64, out: &mut Vec<Atom>) {
        let text_end = (start..end)
            .rev()
            .find(|&at| !is_space(self.phonemes[at]))
            .map_or(start, |last| last + 1);
        let too_long = self.count(start, end) > self.limit;
        if too_long && start < text_end && self.count(start, text_end) <= self.limit {
            out.push(Atom { end: text_end, cut_cost: cost });
            self.atoms(text_end, end, LEVELS, CUT_COSTS[level], out);
        } else {
            self.atoms(start, end, level + 1, cost, out);
        }
    }

    /// Split a word that is too long into even pieces.
    fn hard_atoms(&self, mut start: usize, end: usize, mut cost: f64, out: &mut Vec<Atom>) {
        loop {
            let left = self.count(start, end);
            if left <= self.limit {
                break;
            }
            let pieces = left.div_ceil(self.limit);
            let wanted = left.div_ceil(pieces);
            let mut cut = start;
            while self.count(start, cut) < wanted {
                cut += 1;
            }
            let unmarked =
                (start + 1..=cut).rev().find(|&place| !self.separates_mark(place)).unwrap_or(cut);
            out.push(Atom { end: unmarked, cut_cost: cost });
            (start, cost) = (unmarked, CUT_COSTS[LEVELS]);
        }
        out.push(Atom { end, cut_cost: cost });
    }

    fn chunk_cost(&self, start: usize, end: usize) -> f64 {
        if self.speakable[end] == self.speakable[start] {
            return EMPTY_CHUNK_COST;
        }
        let rest = 1.0 - self.count(start, end) as f64 / self.limit as f64;
        rest * rest
    }

    /// The atoms, where one without known symbols joins the previous; this bounds the search.
    fn fed_atoms(&self) -> Vec<Atom> {
        let mut all = Vec::new();
        self.atoms(0, self.phonemes.len(), 0, 0.0, &mut all);
        let mut atoms: Vec<Atom> = Vec::new();
        let mut start = 0;
        for atom in all {
            match atoms.last_mut() {
                Some(last) if self.count(start, atom.end) == 0 => last.end = atom.end,
                _ => atoms.push(atom),
            }
            start = atom.end;
        }
        atoms
    }

    /// The cheapest partition of the atoms, by dynamic programming over the last chunk.
    fn spans(&self) -> Vec<Span> {
        let atoms = self.fed_atoms();
        let start_of = |index: usize| if index == 0 { 0 } else { atoms[index - 1].end };
        let mut best = vec![0.0];
        let mut first_of_last_chunk = Vec::with_capacity(atoms.len());
        for (last, atom) in atoms.iter().enumerate() {
            let (mut cheapest, mut chosen) = (f64::INFINITY, last);
            for first in (0..=last).rev() {
                if self.count(start_of(first), atom.end) > self.limit {
                    break;
                }
                let cost = best[first] + atoms[first].cut_cost;
                let cost = cost + self.chunk_cost(start_of(first), atom.end);
                if cost < cheapest {
                    (cheapest, chosen) = (cost, first);
                }
            }
            best.push(cheapest);
            first_of_last_chunk.push(chosen);
        }
        let mut spans = Vec::new();
        let mut remaining = atoms.len();
        while remaining > 0 {
            let first = first_of_last_chunk[remaining - 1];
            spans.push(start_of(first)..atoms[remaining - 1].end);
            remaining = first;
        }
        spans.reverse();
        spans
    }
}

/// Spans that partition `phonemes`, each with at most `limit` (at least 1) known symbols.
///
/// Symbols outside the vocabulary are neither fed to the model nor counted. Empty input has no
/// spans; input that fits is a single span. The running time is linear in the length of the input.
pub fn split(phonemes: &[char], vocabulary: &Vocabulary, limit: usize) -> Vec<Span> {
    assert!(limit > 0, "a chunk holds at least one phoneme");
    if phonemes.is_empty() {
        return Vec::new();
    }
    let running = |counts: &dyn Fn(char) -> bool| {
        let mut total = 0;
        let mut sums = vec![0];
        sums.extend(phonemes.iter().map(|&symbol| {
            total += usize::from(counts(symbol));
            total
        }));
        sums
    };
    let fed = running(&|symbol| vocabulary.contains(symbol));
    if fed[phonemes.len()] <= limit {
        return std::iter::once(0..phonemes.len()).collect();
    }
    let speakable = running(&|symbol| vocabulary.contains(symbol) && !is_space(symbol));
    Splitter { phonemes, limit, fed, speakable }.spans()
}
