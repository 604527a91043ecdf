//! The single thread that makes all calls into TVM for one artifact.
//!
//! A VM is not re-entrant and TVM's worker pool is thread-local, so the calls of all threads go
//! through a queue to the one thread that owns both. Callers wait for the result. The thread is
//! joined when the dispatcher is dropped: at the end of the process, a destructor of TVM's pool
//! would otherwise wait for workers that still spin.

use std::sync::mpsc::{channel, Sender};
use std::sync::Mutex;
use std::thread::JoinHandle;

use crate::errors::{guarded, Error, Result};

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Runs jobs one after another on one thread that owns a state of type `S`.
pub struct Dispatcher<S> {
    jobs: Mutex<Option<Sender<Job<S>>>>,
    thread: Option<JoinHandle<()>>,
    process: u32,
}

impl<S: 'static> Dispatcher<S> {
    /// Start the thread and make the state on it; fails with what `make` fails with.
    pub fn start(make: impl FnOnce() -> Result<S> + Send + 'static) -> Result<Dispatcher<S>> {
        let (jobs, queue) = channel::<Job<S>>();
        let (started, answer) = channel();
        let work = move || {
            let mut state = match guarded(make) {
                Ok(state) => {
                    let _ = started.send(Ok(()));
                    state
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            for job in queue {
                job(&mut state);
            }
        };
        let thread = std::thread::Builder::new()
            .name("kokoro-tvm".to_string())
            .spawn(work)
            .map_err(|error| Error::environment(format!("cannot start a thread: {error}")))?;
        let dispatcher = Dispatcher {
            jobs: Mutex::new(Some(jobs)),
            thread: Some(thread),
            process: std::process::id(),
        };
        let made = answer.recv().unwrap_or_else(|_| Err(Error::internal("a thread ended early")));
        made.map(|()| dispatcher)
    }

    /// Run a job on the thread and wait for its result.
    ///
    /// Fails in a forked process, which does not have the thread, and if the job panics.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut S) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.process != std::process::id() {
            return Err(Error::environment(format!(
                "this synthesizer belongs to process {}, this is its fork {}, and threads do not \
                 survive a fork; open the artifact after forking",
                self.process,
                std::process::id()
            )));
        }
        let (send, answer) = channel();
        let job: Job<S> = Box::new(move |state| {
            let _ = send.send(guarded(|| job(state)));
        });
        {
            let jobs = self.jobs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let sent = jobs.as_ref().map(|jobs| jobs.send(job));
            if !matches!(sent, Some(Ok(()))) {
                return Err(Error::internal("the thread of this synthesizer has ended"));
            }
        }
        answer.recv().unwrap_or_else(|_| Err(Error::internal("a job was dropped")))
    }
}

impl<S> Drop for Dispatcher<S> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            return;
        }
        let jobs = self.jobs.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner());
        drop(jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn jobs_of_many_threads_take_turns_on_one() {
        let dispatcher = Arc::new(Dispatcher::start(|| Ok(0u64)).unwrap());
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let dispatcher = Arc::clone(&dispatcher);
                std::thread::spawn(move || {
                    for _ in 0..100 {
                        dispatcher
                            .run(|count| {
                                let seen = *count;
                                std::thread::yield_now();
                                *count = seen + 1;
                                Ok(())
                            })
                            .unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(dispatcher.run(|count| Ok(*count)).unwrap(), 800);
    }

    #[test]
    fn a_panic_is_an_error_and_the_thread_goes_on() {
        let dispatcher = Dispatcher::start(|| Ok(())).unwrap();
        let error = dispatcher.run(|()| -> Result<()> { panic!("on purpose") }).unwrap_err();
        assert_eq!(error.exit_code(), 4);
        assert!(error.to_string().contains("on purpose"));
        assert_eq!(dispatcher.run(|()| Ok(5)).unwrap(), 5);
    }

    #[test]
    fn what_fails_at_the_start_fails_the_dispatcher() {
        let failed = Dispatcher::<()>::start(|| Err(Error::artifact("no library")));
        assert_eq!(failed.err().unwrap().to_string(), "no library");
    }

    #[test]
    fn the_state_is_dropped_before_the_dispatcher_is_gone() {
        struct Flag(Arc<std::sync::atomic::AtomicBool>);
        impl Drop for Flag {
            fn drop(&mut self) {
                std::thread::sleep(std::time::Duration::from_millis(20));
                self.0.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let dropped = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let flag = Flag(Arc::clone(&dropped));
        drop(Dispatcher::start(move || Ok(flag)).unwrap());
        assert!(dropped.load(std::sync::atomic::Ordering::SeqCst));
    }
}
