//! A few threads that work through jobs.

use crossbeam::channel;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The threads of one task. None outlives the call that starts it.
pub(super) struct Workers<'a> {
    /// What they are called.
    pub name: &'static str,
    /// Their number; one is the least.
    pub threads: usize,
    /// Whether no further job should begin.
    pub stopped: &'a (dyn Fn() -> bool + Sync),
}

impl Workers<'_> {
    /// Works through the jobs 0 to `count`, each thread with a tool of its own, and hands every result to `take`
    /// on this thread, in the order in which they come, with what a job hands over on its way. After the first error of `take`, which is the answer, no job
    /// begins; what others have come to is still handed over.
    pub fn work<Tool, Done: Send, E>(
        &self,
        count: usize,
        tool: impl Fn() -> Tool + Sync,
        job: impl Fn(&mut Tool, usize, &mut dyn FnMut(Done)) -> Done + Sync,
        mut take: impl FnMut(usize, Done) -> Result<(), E>,
    ) -> Result<(), E> {
        let next = AtomicUsize::new(0);
        let work = |deliver: &mut dyn FnMut(usize, Done)| {
            let mut tool = tool();
            while !(self.stopped)() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    break;
                }
                let done = job(&mut tool, index, &mut |step| deliver(index, step));
                deliver(index, done);
            }
        };
        let mut result = Ok(());
        let mut taken = |index: usize, done: Done| {
            let taken = take(index, done);
            if taken.is_err() && result.is_ok() {
                // Nothing more is worth starting; the first error is the one to report.
                next.store(count, Ordering::Relaxed);
                result = taken;
            }
        };
        let (sender, receiver) = channel::unbounded();
        std::thread::scope(|scope| {
            let spawn = |_| {
                let (sender, work) = (sender.clone(), &work);
                // The receiver outlives the threads.
                let body = move || work(&mut |index, done| drop(sender.send((index, done))));
                std::thread::Builder::new().name(self.name.into()).spawn_scoped(scope, body)
            };
            // A process that may start no more threads works with those it got, or on this one.
            let handles: Vec<_> =
                (0..self.threads.clamp(1, count.max(1))).map_while(|thread| spawn(thread).ok()).collect();
            if handles.is_empty() {
                work(&mut taken);
            }
            drop(sender);
            for (index, done) in &receiver {
                taken(index, done);
            }
            for handle in handles {
                if let Err(panic) = handle.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::sync::atomic::AtomicBool;

    fn squares(threads: usize, stopped: &(dyn Fn() -> bool + Sync)) -> Vec<(usize, usize)> {
        let mut squares = Vec::new();
        let workers = Workers { name: "aoe-test", threads, stopped };
        let take = |index, square| {
            squares.push((index, square));
            Ok(())
        };
        let Ok(()) = workers.work::<_, _, Infallible>(100, || (), |(), index, _| index * index, take);
        squares.sort_unstable();
        squares
    }

    #[test]
    fn every_job_is_done_once_whatever_the_number_of_threads() {
        let expected: Vec<_> = (0..100).map(|index| (index, index * index)).collect();
        for threads in [0, 1, 3, 1000] {
            assert_eq!(squares(threads, &|| false), expected, "{threads} threads");
        }
    }

    #[test]
    fn what_is_stopped_begins_nothing() {
        let stopped = AtomicBool::new(true);
        assert_eq!(squares(2, &|| stopped.load(Ordering::Acquire)), []);
    }

    #[test]
    fn the_first_error_is_the_one_reported_and_nothing_begins_after_it() {
        let mut taken = 0;
        let workers = Workers { name: "aoe-test", threads: 2, stopped: &|| false };
        let take = |index, ()| {
            taken += 1;
            if index < 5 { Ok(()) } else { Err(index) }
        };
        // On one thread jobs come in order.
        let answer = Workers { threads: 1, ..workers }.work(1 << 20, || (), |(), _, _| (), take);
        assert_eq!(answer, Err(5));
        assert!(taken < 1 << 20, "{taken} jobs");
    }

    #[test]
    fn a_panic_of_a_job_reaches_the_caller() {
        let workers = Workers { name: "aoe-test", threads: 2, stopped: &|| false };
        let job = |(): &mut (), index: usize, _: &mut dyn FnMut(())| assert_ne!(index, 7, "the seventh");
        let work = || workers.work::<_, _, Infallible>(20, || (), job, |_, ()| Ok(()));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        assert!(caught.is_err());
    }
}
