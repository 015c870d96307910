// SPDX-License-Identifier: Apache-2.0
// Counts the calls of each of the driver's entry points, so that a test can list those that it did not call. The list
// is the tables' own: each member that the driver fills must be known here.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <va/va.h>
#include <va/va_backend.h>
#include <va/va_backend_vpp.h>

namespace tenon::va::test {

inline VADriverContextP driver_of(VADisplay display) { return static_cast<VADisplayContextP>(display)->pDriverContext; }

/// Replaces one entry point in a table. The real one is the same for all displays.
template <auto kMember>
struct Spy;

template <class Table, class... Arguments, VAStatus (*Table::*kMember)(Arguments...)>
struct Spy<kMember> {
  using Call = VAStatus (*)(Arguments...);
  static inline std::atomic<Call> real{nullptr};
  static inline std::atomic<unsigned> calls{0};
  static VAStatus call(Arguments... arguments) {
    calls.fetch_add(1, std::memory_order_relaxed);
    return real.load(std::memory_order_relaxed)(arguments...);
  }
  static void install(void* table) {
    Call& entry = static_cast<Table*>(table)->*kMember;
    if (!entry || entry == &call) return;
    real.store(entry, std::memory_order_relaxed);
    entry = &call;
  }
  /// Offset of the call in its table.
  static std::size_t offset() {
    static const Table table{};
    return static_cast<std::size_t>(reinterpret_cast<const char*>(&(table.*kMember)) -
                                    reinterpret_cast<const char*>(&table));
  }
};

struct SpiedCall {
  const char* name;
  bool is_processing;  ///< In the table of video processing.
  std::size_t (*offset)();
  void (*install)(void* table);
  std::atomic<unsigned>* calls;
};

template <auto kMember>
SpiedCall spied(const char* name, bool is_processing = false) {
  return {name, is_processing, Spy<kMember>::offset, Spy<kMember>::install, &Spy<kMember>::calls};
}

inline const std::vector<SpiedCall>& spied_calls() {
  using T = VADriverVTable;
  using P = VADriverVTableVPP;
#define TENON_SPIED(name) spied<&T::name>(#name)
  static const std::vector<SpiedCall> all{
      TENON_SPIED(vaTerminate),
      TENON_SPIED(vaQueryConfigProfiles),
      TENON_SPIED(vaQueryConfigEntrypoints),
      TENON_SPIED(vaGetConfigAttributes),
      TENON_SPIED(vaCreateConfig),
      TENON_SPIED(vaDestroyConfig),
      TENON_SPIED(vaQueryConfigAttributes),
      TENON_SPIED(vaCreateSurfaces),
      TENON_SPIED(vaDestroySurfaces),
      TENON_SPIED(vaCreateContext),
      TENON_SPIED(vaDestroyContext),
      TENON_SPIED(vaCreateBuffer),
      TENON_SPIED(vaBufferSetNumElements),
      TENON_SPIED(vaMapBuffer),
      TENON_SPIED(vaUnmapBuffer),
      TENON_SPIED(vaDestroyBuffer),
      TENON_SPIED(vaBeginPicture),
      TENON_SPIED(vaRenderPicture),
      TENON_SPIED(vaEndPicture),
      TENON_SPIED(vaSyncSurface),
      TENON_SPIED(vaQuerySurfaceStatus),
      TENON_SPIED(vaQuerySurfaceError),
      TENON_SPIED(vaPutSurface),
      TENON_SPIED(vaQueryImageFormats),
      TENON_SPIED(vaCreateImage),
      TENON_SPIED(vaDeriveImage),
      TENON_SPIED(vaDestroyImage),
      TENON_SPIED(vaSetImagePalette),
      TENON_SPIED(vaGetImage),
      TENON_SPIED(vaPutImage),
      TENON_SPIED(vaQuerySubpictureFormats),
      TENON_SPIED(vaCreateSubpicture),
      TENON_SPIED(vaDestroySubpicture),
      TENON_SPIED(vaSetSubpictureImage),
      TENON_SPIED(vaSetSubpictureChromakey),
      TENON_SPIED(vaSetSubpictureGlobalAlpha),
      TENON_SPIED(vaAssociateSubpicture),
      TENON_SPIED(vaDeassociateSubpicture),
      TENON_SPIED(vaQueryDisplayAttributes),
      TENON_SPIED(vaGetDisplayAttributes),
      TENON_SPIED(vaSetDisplayAttributes),
      TENON_SPIED(vaBufferInfo),
      TENON_SPIED(vaLockSurface),
      TENON_SPIED(vaUnlockSurface),
      TENON_SPIED(vaGetSurfaceAttributes),
      TENON_SPIED(vaCreateSurfaces2),
      TENON_SPIED(vaQuerySurfaceAttributes),
      TENON_SPIED(vaAcquireBufferHandle),
      TENON_SPIED(vaReleaseBufferHandle),
      TENON_SPIED(vaCreateMFContext),
      TENON_SPIED(vaMFAddContext),
      TENON_SPIED(vaMFReleaseContext),
      TENON_SPIED(vaMFSubmit),
      TENON_SPIED(vaCreateBuffer2),
      TENON_SPIED(vaQueryProcessingRate),
      TENON_SPIED(vaExportSurfaceHandle),
      TENON_SPIED(vaSyncSurface2),
      TENON_SPIED(vaSyncBuffer),
      TENON_SPIED(vaCopy),
      spied<&P::vaQueryVideoProcFilters>("vaQueryVideoProcFilters", true),
      spied<&P::vaQueryVideoProcFilterCaps>("vaQueryVideoProcFilterCaps", true),
      spied<&P::vaQueryVideoProcPipelineCaps>("vaQueryVideoProcPipelineCaps", true),
  };
#undef TENON_SPIED
  return all;
}

/// Every non-null word of a table that is not a known call.
template <class Table>
void expect_all_known(const Table& table, std::size_t begin, bool is_processing) {
  for (std::size_t at = begin; at < offsetof(Table, reserved); at += sizeof(void*)) {
    void* entry = nullptr;
    std::memcpy(&entry, reinterpret_cast<const char*>(&table) + at, sizeof entry);
    const bool known = std::any_of(spied_calls().begin(), spied_calls().end(), [&](const SpiedCall& one) {
      return one.is_processing == is_processing && one.offset() == at;
    });
    EXPECT_TRUE(!entry || known) << "the driver fills the entry at byte " << at << " of "
                                 << (is_processing ? "VADriverVTableVPP" : "VADriverVTable")
                                 << ", which the list of calls lacks";
  }
}

/// Counts this display's calls from now on until vaTerminate.
inline void spy_on(VADisplay display) {
  const VADriverContextP driver = driver_of(display);
  expect_all_known(*driver->vtable, 0, false);
  expect_all_known(*driver->vtable_vpp, sizeof(void*), true);  // Its version is first.
  for (const SpiedCall& one : spied_calls())
    one.install(one.is_processing ? static_cast<void*>(driver->vtable_vpp) : driver->vtable);
}

inline void forget_calls() {
  for (const SpiedCall& one : spied_calls()) one.calls->store(0);
}

/// Names of the calls that have not been called since.
inline std::string calls_left_out() {
  std::string names;
  for (const SpiedCall& one : spied_calls())
    if (*one.calls == 0) names += std::string(names.empty() ? "" : " ") + one.name;
  return names;
}

}  // namespace tenon::va::test
