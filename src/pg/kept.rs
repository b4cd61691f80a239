//! What is kept for as long as memory of PostgreSQL's lives, such as that of a query: values by keys, in this process.

use std::cell::RefCell;
use std::thread::LocalKey;

use pgrx::PgMemoryContexts;
use pgrx::pg_sys::MemoryContext;

/// Keys with their values; there are few at a time.
pub type Kept<K, V> = RefCell<Vec<(K, V)>>;

/// Takes what is kept under a key away when its memory goes.
struct Forget<K: PartialEq + 'static, V: 'static> {
    kept: &'static LocalKey<Kept<K, V>>,
    key: K,
}

impl<K: PartialEq, V> Drop for Forget<K, V> {
    fn drop(&mut self) {
        // Where the thread is at its end there is nothing to forget.
        let forget = |kept: &Kept<K, V>| kept.borrow_mut().retain(|(key, _)| *key != self.key);
        let _ = self.kept.try_with(forget);
    }
}

/// Works with the value whose key is the one that is looked for; `None` if there is none.
pub fn find<K, V, R>(
    kept: &'static LocalKey<Kept<K, V>>,
    is: impl Fn(&K) -> bool,
    work: impl FnOnce(&mut V) -> R,
) -> Option<R> {
    kept.with_borrow_mut(|all| {
        let found = all.iter_mut().find(|(key, _)| is(key));
        found.map(|(_, value)| work(value))
    })
}

/// Keeps a value until the memory goes. There is none under this key.
///
/// # Safety
/// A memory context that lives.
pub unsafe fn keep<K: PartialEq + Clone, V>(
    kept: &'static LocalKey<Kept<K, V>>,
    memory: MemoryContext,
    key: K,
    value: V,
) {
    let forget = Forget {
        kept,
        key: key.clone(),
    };
    // First, as memory may end: what is not forgotten would be found by the next query at this address.
    PgMemoryContexts::For(memory).leak_and_drop_on_delete(forget);
    kept.with_borrow_mut(|all| all.push((key, value)));
}
