#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Mutexes that clang can check: a field declared with VECHE_GUARDED_BY(mutex_) may only be used
// while mutex_ is held, and `make tidy` fails where it is not. GCC sees plain std::mutex and
// std::condition_variable. The standard library's own types carry no such attributes.

#if defined(__clang__)
#define VECHE_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define VECHE_THREAD_ATTRIBUTE(attribute)
#endif

// After a field: the mutex that protects it; with PT, what the field points to.
#define VECHE_GUARDED_BY(mutex) VECHE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define VECHE_PT_GUARDED_BY(mutex) VECHE_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// After a function or the parameter list of a lambda: the caller holds the mutex, or must not hold
// it.
#define VECHE_REQUIRES(...) VECHE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define VECHE_EXCLUDES(...) VECHE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// After a function that the check cannot follow. A comment says why it is right.
#define VECHE_NOT_CHECKED VECHE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace veche {

class VECHE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() VECHE_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() VECHE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() VECHE_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// Holds a mutex until the end of the scope; may let go of it before and take it again.
class VECHE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) VECHE_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  // For a mutex that the caller has locked, as with try_lock.
  MutexLock(Mutex& mutex, std::adopt_lock_t /*adopt*/) VECHE_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() VECHE_THREAD_ATTRIBUTE(release_capability()) {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() VECHE_THREAD_ATTRIBUTE(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }
  void lock() VECHE_THREAD_ATTRIBUTE(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Lets go of a held mutex until the end of the scope.
class VECHE_THREAD_ATTRIBUTE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) VECHE_THREAD_ATTRIBUTE(release_capability(mutex)) : mutex_(mutex) {
    mutex_.unlock();
  }
  ~MutexUnlock() VECHE_THREAD_ATTRIBUTE(release_capability()) { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

// The caller of each wait holds the mutex, before and after. `ready` is asked with the mutex held:
// a lambda that reads guarded fields says so, [&]() VECHE_REQUIRES(mutex_) { return ... }.
class ConditionVariable {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(Mutex& mutex) VECHE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();  // the caller still holds it
  }
  template <class Clock, class Duration>
  std::cv_status wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& until)
      VECHE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, until);
    lock.release();
    return status;
  }
  template <class Rep, class Period>
  std::cv_status wait_for(Mutex& mutex, const std::chrono::duration<Rep, Period>& time)
      VECHE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_for(lock, time);
    lock.release();
    return status;
  }

  // Not checked: clang cannot tell that `ready` requires the mutex that is passed.
  template <class Ready>
  void wait(Mutex& mutex, Ready ready) VECHE_REQUIRES(mutex) VECHE_NOT_CHECKED {
    while (!ready()) wait(mutex);
  }
  // Whether it was ready in time.
  template <class Clock, class Duration, class Ready>
  bool wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& until, Ready ready)
      VECHE_REQUIRES(mutex) VECHE_NOT_CHECKED {
    while (!ready())
      if (wait_until(mutex, until) == std::cv_status::timeout) return ready();
    return true;
  }
  template <class Rep, class Period, class Ready>
  bool wait_for(Mutex& mutex, const std::chrono::duration<Rep, Period>& time, Ready ready)
      VECHE_REQUIRES(mutex) VECHE_NOT_CHECKED {
    using Steady = std::chrono::steady_clock;
    return wait_until(mutex, Steady::now() + std::chrono::ceil<Steady::duration>(time), ready);
  }

 private:
  std::condition_variable condition_;
};

}  // namespace veche
