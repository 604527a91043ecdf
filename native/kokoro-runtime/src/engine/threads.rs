//! The number of threads that the kernels use.

use crate::errors::{Error, Result};

const MAX_THREADS: usize = 1024;
const ENVIRONMENT_VARIABLE: &str = "TVM_NUM_THREADS";

/// `threads`, else `$TVM_NUM_THREADS`, else the number of CPUs that this process may use.
pub fn resolve(threads: Option<usize>) -> Result<usize> {
    if let Some(count) = threads {
        if (1..=MAX_THREADS).contains(&count) {
            return Ok(count);
        }
        return Err(Error::input(format!(
            "threads is {count}, expected a whole number from 1 to {MAX_THREADS}"
        )));
    }
    match std::env::var_os(ENVIRONMENT_VARIABLE).filter(|value| !value.is_empty()) {
        Some(value) => parse(&value.to_string_lossy()).ok_or_else(|| {
            Error::environment(format!(
                "{ENVIRONMENT_VARIABLE} is {value:?}, expected a whole number from 1 to \
                 {MAX_THREADS}; unset it or ask for a number of threads"
            ))
        }),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)),
    }
}

fn parse(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok())?.filter(|count| (1..=MAX_THREADS).contains(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_have_limits() {
        assert_eq!(parse("2"), Some(2));
        for text in ["0", "1025", "+2", " 2", "two", "2.0", "99999999999999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert!(resolve(Some(0)).is_err() && resolve(Some(1025)).is_err());
        assert_eq!(resolve(Some(3)).unwrap(), 3);
    }
}
