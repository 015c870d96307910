// SPDX-License-Identifier: Apache-2.0
// Threads of Tenon's that need Python's interpreter: callbacks, and memory whose owner is a Python object.
#pragma once

#include <utility>

#include <nanobind/nanobind.h>

namespace tenon::python {

/// Holds the interpreter for its scope, unless the interpreter is ending: then nothing of Python's may be touched.
/// @thread any, whether or not it holds the interpreter already.
class Entered {
 public:
  Entered();
  ~Entered();
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  bool entered_ = false, counted_ = false;
  PyGILState_STATE state_{};
};

/// Lets other threads of Python run during its scope. Where Python has ended meanwhile, the thread stops for good at the end of the scope:
/// Python up to 3.13 would unwind it, which no C++ code survives.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

/// What `call` returns, which runs with the interpreter free: a device may wait in it for threads that are in Python.
template <typename F>
auto freely(F call) {
  const Released released;
  return call();
}

/// Counts a call of a function that lets other threads run, and uses Python after that: nb::call_guard<Call>(). An interpreter that ends
/// waits for such calls. A thread that calls one later, or that waits in one then, stops for good, as after Released: Python up to 3.13
/// would end it at the next line of Python that it runs, and so unwind the C++ code that called it.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

/// A Python reference that any thread may drop: the interpreter is entered to release it. After the interpreter has ended the reference is
/// abandoned, because nothing can release it any more.
class Held {
 public:
  Held() = default;
  explicit Held(nanobind::object object) : object_(object.release().ptr()) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() { reset(); }
  void reset() noexcept;
  explicit operator bool() const { return object_ != nullptr; }
  /// With the interpreter held.
  nanobind::handle get() const { return object_; }

 private:
  PyObject* object_ = nullptr;
};

/// Called when Python ends: threads no longer enter, and those inside have left when it returns (after ten seconds at the latest).
void leave_interpreter();

/// Marks the child of a fork() in which devices were in use: their threads do not exist there.
void note_fork();
/// Whether this is such a child: what waits for threads would wait for ever, so objects that were made before stay.
bool is_forked();
/// To be called before devices are used. @errors FailedPrecondition in such a child.
void check_process();

}  // namespace tenon::python
