// SPDX-License-Identifier: Apache-2.0
// Python's library is loaded by name, and only functions of its stable interface are used: one build of this module serves all versions.
#include <tenon/elements/python/interpreter.hpp>

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/version.hpp>

namespace tenon {
inline namespace v1 {
namespace elements::python {
namespace {

namespace fs = std::filesystem;

struct Object;  // PyObject, of which only Python knows more.

struct Api {
  int (*is_initialized)();
  void (*initialize)(int with_signals);
  void (*set_program_name)(const wchar_t* name);  ///< Null in versions that have it no more.
  wchar_t* (*decode_locale)(const char* text, std::size_t* size);
  void* (*save_thread)();
  int (*ensure)();
  void (*release)(int state);
  Object* (*import)(const char* name);
  Object* (*call_method)(Object* self, const char* name, const char* format, ...);
  Object* (*system_object)(const char* name);  ///< Borrowed.
  Object* (*text_from)(const char* text);
  int (*append)(Object* list, Object* item);
  Object* (*str)(Object* object);
  const char* (*text_of)(Object* text, std::ptrdiff_t* size);
  void* (*capsule_pointer)(Object* capsule, const char* name);
  int (*is_capsule)(Object* capsule, const char* name);
  void (*fetch_error)(Object** type, Object** value, Object** trace);
  void (*clear_error)();
  void (*drop)(Object* object);
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

/// The functions of a Python library. @return The first that is missing; empty: none is.
std::string fill(Api& api, void* library) {
  find(library, "Py_SetProgramName", api.set_program_name);
  const char* missing = "";
  const auto need = [&](const char* name, auto& function) {
    if (!find(library, name, function)) missing = name;
  };
  need("Py_IsInitialized", api.is_initialized);
  need("Py_InitializeEx", api.initialize);
  need("Py_DecodeLocale", api.decode_locale);
  need("PyEval_SaveThread", api.save_thread);
  need("PyGILState_Ensure", api.ensure);
  need("PyGILState_Release", api.release);
  need("PyImport_ImportModule", api.import);
  need("PyObject_CallMethod", api.call_method);
  need("PySys_GetObject", api.system_object);
  need("PyUnicode_FromString", api.text_from);
  need("PyList_Append", api.append);
  need("PyObject_Str", api.str);
  need("PyUnicode_AsUTF8AndSize", api.text_of);
  need("PyCapsule_GetPointer", api.capsule_pointer);
  need("PyCapsule_IsValid", api.is_capsule);
  need("PyErr_Fetch", api.fetch_error);
  need("PyErr_Clear", api.clear_error);
  need("Py_DecRef", api.drop);
  return missing;
}

struct Interpreter {
  std::string executable;
  std::vector<std::string> libraries;  ///< Paths or names of its library, the best first.
};

constexpr const char* kRemedy =
    "; the environment variable TENON_PYTHON names another interpreter, whose shared library (Debian: libpython3.11) "
    "must be there";

/// Asks the interpreter on the path, which knows its environment (a venv), for its library.
Interpreter ask_interpreter() {
  constexpr const char* kCommand =
      "exec \"${TENON_PYTHON:-python3}\" -c 'import sys, sysconfig as s; g = s.get_config_var; print(sys.executable); "
      "print(str(g(\"LIBDIR\")) + \"/\" + str(g(\"INSTSONAME\"))); print(\"libpython\" + str(g(\"LDVERSION\")) + "
      "\".so.1.0\")'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(kCommand, "re"), &::pclose);
  std::string text;
  std::array<char, 512> part{};
  while (pipe && std::fgets(part.data(), static_cast<int>(part.size()), pipe.get())) text += part.data();
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  if (lines.size() != 3) {
    const char* const named = std::getenv("TENON_PYTHON");
    throw Error(Code::kUnavailable,
                std::string("the interpreter ") + (named ? named : "python3") + " does not run" + kRemedy);
  }
  // A static library (libpython3.11.a) is in the interpreter alone; the system may have the shared one of the same version.
  Interpreter found{lines[0], {}};
  if (lines[1].find(".so") != std::string::npos) found.libraries.push_back(lines[1]);
  found.libraries.push_back(lines[2]);
  return found;
}

/// Loads and starts the interpreter that the path has.
Api start() {
  const Interpreter found = ask_interpreter();
  void* library = nullptr;
  std::string why;
  for (const std::string& each : found.libraries) {
    // Python's own modules look for its functions among those that all libraries share.
    if ((library = ::dlopen(each.c_str(), RTLD_NOW | RTLD_GLOBAL))) break;
    const char* const reason = ::dlerror();
    why += std::string(why.empty() ? "" : "; ") + (reason ? reason : each.c_str());
  }
  if (!library)
    throw Error(Code::kUnavailable,
                "the library of the interpreter " + found.executable + " cannot be loaded: " + why + kRemedy);
  Api api{};
  if (const std::string missing = fill(api, library); !missing.empty())
    throw Error(Code::kUnavailable, "the library of " + found.executable + " has no " + missing);
  // The name of the program says which environment's packages there are. Python keeps it.
  if (api.set_program_name) api.set_program_name(api.decode_locale(found.executable.c_str(), nullptr));
  api.initialize(0);  // Signals stay the program's.
  api.save_thread();  // Each use enters by itself, from whichever thread.
  return api;
}

const Api& interpreter() {
  static std::mutex mutex;
  static const Api* made = nullptr;
  const std::lock_guard lock(mutex);
  if (made) return *made;
  Api api{};
  // A program that runs Python has its functions already. One that only links them starts it by itself.
  if (fill(api, RTLD_DEFAULT).empty() && api.is_initialized())
    made = new Api(api);  // Never deleted: elements use it as long as the process lives.
  else
    made = new Api(start());
  return *made;
}

/// Holds the interpreter.
class Entered {
 public:
  explicit Entered(const Api& api) : api_(api), state_(api.ensure()) {}
  Entered(const Entered&) = delete;
  ~Entered() { api_.release(state_); }

 private:
  const Api& api_;
  int state_;
};

struct Drop {
  const Api* api;
  void operator()(Object* object) const { api->drop(object); }
};
using Owned = std::unique_ptr<Object, Drop>;
Owned owned(const Api& api, Object* object) { return Owned(object, Drop{&api}); }

/// The text of Python's present error, which is cleared.
std::string take_error(const Api& api) {
  Object *type = nullptr, *value = nullptr, *trace = nullptr;
  api.fetch_error(&type, &value, &trace);
  const Owned kept_type = owned(api, type), kept_value = owned(api, value), kept_trace = owned(api, trace);
  const Owned text = owned(api, value ? api.str(value) : nullptr);
  const char* const bytes = text ? api.text_of(text.get(), nullptr) : nullptr;
  std::string error = bytes ? bytes : "an error without a text";
  api.clear_error();
  return error;
}

/// Where the package may lie beside this library: in the build, and in a wheel.
std::vector<std::string> folders_beside() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&interpreter), &self) == 0 || !self.dli_fname) return {};
  std::error_code ignored;
  const fs::path folder = fs::canonical(self.dli_fname, ignored).parent_path();
  std::vector<std::string> found;
  for (const fs::path& each : {folder.parent_path() / "python", folder.parent_path().parent_path()})
    if (fs::exists(each / "tenon" / "_embedded.py", ignored)) found.push_back(each.string());
  return found;
}

/// tenon._embedded. @errors kUnavailable
Owned import_package(const Api& api) {
  Owned module = owned(api, api.import("tenon._embedded"));
  if (module) return module;
  api.clear_error();
  for (const std::string& folder : folders_beside()) {
    const Owned text = owned(api, api.text_from(folder.c_str()));
    Object* const path = api.system_object("path");
    if (text && path) api.append(path, text.get());
  }
  module = owned(api, api.import("tenon._embedded"));
  if (module) return module;
  throw Error(Code::kUnavailable, "the Python package tenon cannot be imported: " + take_error(api) +
                                      "; install it for this interpreter, or name its folder in PYTHONPATH");
}

}  // namespace

KnownElement element_from(const std::string& owner, const std::string& module, const std::string& name,
                          const std::string& kwarg, Role role) {
  constexpr const char* kCapsule = "tenon.elements.KnownElement";
  const Api& api = interpreter();
  const Entered entered(api);
  const Owned package = import_package(api);
  const char* const wanted = role == Role::kSource ? "source" : role == Role::kSink ? "sink" : "transform";
  const Owned made = owned(api, api.call_method(package.get(), "make", "ssssss", TENON_VERSION, owner.c_str(),
                                                module.c_str(), name.c_str(), kwarg.c_str(), wanted));
  if (!made) throw Error(Code::kInvalidArgument, owner + ": " + take_error(api));
  if (!api.is_capsule(made.get(), kCapsule)) {  // The text of an exception.
    const char* const text = api.text_of(made.get(), nullptr);
    throw Error(Code::kInvalidArgument, owner + ": " + (text ? text : "the package tenon made no element"));
  }
  return *static_cast<const KnownElement*>(api.capsule_pointer(made.get(), kCapsule));
}

}  // namespace elements::python
}  // namespace v1
}  // namespace tenon
