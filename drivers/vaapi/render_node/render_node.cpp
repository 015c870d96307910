// SPDX-License-Identifier: Apache-2.0
// Preloaded by `tenon va-env` on machines without a DRM render node: libva and GStreamer insist on one. If the machine
// has none, opening the first render node yields a descriptor that libdrm's queries about nodes recognise; nothing else
// changes.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

constexpr const char kNode[] = "/dev/dri/renderD128";
constexpr const char kName[] = "tenon-render-node";
constexpr const char kLink[] = "/memfd:tenon-render-node (deleted)";  // The link that /proc shows for the descriptor.

/// The real function that this library interposes.
template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_node(const char* path) { return path && std::strcmp(path, kNode) == 0; }

/// True also for duplicates, in any process.
bool is_stand_in(int fd) {
  char path[32] = "/proc/self/fd/", link[64];
  char digits[12];
  int length = 0;
  if (fd < 0) return false;
  do digits[length++] = static_cast<char>('0' + fd % 10);
  while ((fd /= 10) != 0);
  std::size_t end = std::strlen(path);
  while (length > 0) path[end++] = digits[--length];
  const ssize_t size = ::readlink(path, link, sizeof link);
  return size == static_cast<ssize_t>(sizeof kLink - 1) && std::memcmp(link, kLink, sizeof kLink - 1) == 0;
}

/// A stand-in descriptor for the node, after the real call failed to find it.
int stand_in(const char* path, int flags, int result) {
  if (result >= 0 || errno != ENOENT || !is_node(path)) return result;
  return ::memfd_create(kName, flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
}

int mode_of(int flags, std::va_list arguments) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, int) : 0;
}

/// Same layout as libdrm's drmVersion; freed by its drmFreeVersion, which frees each string and the structure.
struct Version {
  int major, minor, patch;
  int name_length;
  char* name;
  int date_length;
  char* date;
  int text_length;
  char* text;
};

char* copied(const char* text) { return ::strdup(text); }

}  // namespace

#define TENON_PUBLIC extern "C" __attribute__((visibility("default")))

#define TENON_OPEN(name)                                                                   \
  TENON_PUBLIC int name(const char* path, int flags, ...) {                                \
    static auto* real = next(static_cast<int (*)(const char*, int, ...)>(nullptr), #name); \
    std::va_list arguments;                                                                \
    va_start(arguments, flags);                                                            \
    const int mode = mode_of(flags, arguments);                                            \
    va_end(arguments);                                                                     \
    return stand_in(path, flags, real(path, flags, mode));                                 \
  }
#define TENON_OPENAT(name)                                                                      \
  TENON_PUBLIC int name(int folder, const char* path, int flags, ...) {                         \
    static auto* real = next(static_cast<int (*)(int, const char*, int, ...)>(nullptr), #name); \
    std::va_list arguments;                                                                     \
    va_start(arguments, flags);                                                                 \
    const int mode = mode_of(flags, arguments);                                                 \
    va_end(arguments);                                                                          \
    return stand_in(path, flags, real(folder, path, flags, mode));                              \
  }

TENON_OPEN(open)
TENON_OPEN(open64)
TENON_OPENAT(openat)
TENON_OPENAT(openat64)

TENON_PUBLIC int __open_2(const char* path, int flags) {
  static auto* real = next(static_cast<int (*)(const char*, int)>(nullptr), "__open_2");
  return stand_in(path, flags, real(path, flags));
}
TENON_PUBLIC int __open64_2(const char* path, int flags) {
  static auto* real = next(static_cast<int (*)(const char*, int)>(nullptr), "__open64_2");
  return stand_in(path, flags, real(path, flags));
}

TENON_PUBLIC int access(const char* path, int mode) {
  static auto* real = next(static_cast<int (*)(const char*, int)>(nullptr), "access");
  const int result = real(path, mode);
  return result != 0 && errno == ENOENT && is_node(path) && !(mode & X_OK) ? 0 : result;
}

/// libdrm's queries about nodes. @source xf86drm.h
TENON_PUBLIC int drmGetNodeTypeFromFd(int fd) {
  constexpr int kRenderNode = 2;
  if (is_stand_in(fd)) return kRenderNode;
  static auto* real = next(static_cast<int (*)(int)>(nullptr), "drmGetNodeTypeFromFd");
  return real ? real(fd) : -1;
}
TENON_PUBLIC Version* drmGetVersion(int fd) {
  if (is_stand_in(fd)) {
    auto* version = static_cast<Version*>(std::calloc(1, sizeof(Version)));
    if (!version) return nullptr;
    *version = {1, 0, 0, 5, copied("tenon"), 1, copied("0"), 21, copied("Tenon stand-in device")};
    return version;
  }
  static auto* real = next(static_cast<Version* (*)(int)>(nullptr), "drmGetVersion");
  return real ? real(fd) : nullptr;
}
TENON_PUBLIC char* drmGetRenderDeviceNameFromFd(int fd) {
  if (is_stand_in(fd)) return copied(kNode);
  static auto* real = next(static_cast<char* (*)(int)>(nullptr), "drmGetRenderDeviceNameFromFd");
  return real ? real(fd) : nullptr;
}

/// GStreamer finds devices through libgudev, which only knows sysfs. A plain GObject stands for the node in its list.
namespace {

struct GList;
void* known_device = nullptr;

template <class Function>
Function* loaded(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

bool has_node() { return ::faccessat(AT_FDCWD, kNode, F_OK, AT_EACCESS) == 0; }

}  // namespace

TENON_PUBLIC GList* g_udev_client_query_by_subsystem(void* client, const char* subsystem) {
  static auto* real = next(static_cast<GList* (*)(void*, const char*)>(nullptr), "g_udev_client_query_by_subsystem");
  GList* list = real ? real(client, subsystem) : nullptr;
  if (!subsystem || std::strcmp(subsystem, "drm") != 0 || has_node()) return list;
  auto* get_type = loaded(static_cast<std::size_t (*)(const char*)>(nullptr), "g_type_from_name");
  auto* make = loaded(static_cast<void* (*)(std::size_t, const char*, ...)>(nullptr), "g_object_new");
  auto* share = loaded(static_cast<void* (*)(void*)>(nullptr), "g_object_ref");
  auto* append = loaded(static_cast<GList* (*)(GList*, void*)>(nullptr), "g_list_append");
  if (!get_type || !make || !share || !append) return list;
  if (!known_device) known_device = make(get_type("GObject"), nullptr);  // One for the process's life.
  return append(list, share(known_device));
}
TENON_PUBLIC const char* g_udev_device_get_name(void* device) {
  if (device && device == known_device) return "renderD128";
  static auto* real = next(static_cast<const char* (*)(void*)>(nullptr), "g_udev_device_get_name");
  return real ? real(device) : nullptr;
}
TENON_PUBLIC const char* g_udev_device_get_device_file(void* device) {
  if (device && device == known_device) return kNode;
  static auto* real = next(static_cast<const char* (*)(void*)>(nullptr), "g_udev_device_get_device_file");
  return real ? real(device) : nullptr;
}
