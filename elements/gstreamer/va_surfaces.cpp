// SPDX-License-Identifier: Apache-2.0
// The module libtenon_gstreamer_surfaces.so, which needs libva.
#include <tenon/bridges/gstreamer_vaapi/gstreamer_vaapi.hpp>
#include <tenon/core/router.hpp>
#include <tenon/elements/gstreamer/surfaces.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>

namespace {

class VaSurfaces final : public tenon::elements::gstreamer::Surfaces {
 public:
  VaSurfaces() { router_.add(tenon::dmabuf::context()); }

  tenon::Frame export_surface(GstBuffer* buffer, const tenon::gstreamer::VideoCaps& caps,
                              tenon::Ledger* ledger) override {
    const tenon::Frame surface = surfaces_.wrap(buffer, caps);
    router_.add(surfaces_.context());
    tenon::MapOptions map;
    map.policy = tenon::ZeroCopy::kRequire;
    map.ledger = ledger;
    map.access = surface.plane(0).is_writable() ? tenon::Access::kReadWrite : tenon::Access::kRead;
    return router_.map(surface, tenon::dmabuf::context(), map);
  }

 private:
  tenon::gstreamer_vaapi::Surfaces surfaces_;
  tenon::Router router_;
};

}  // namespace

/// The module's entry point. The caller owns the result.
extern "C" __attribute__((visibility("default"))) tenon::elements::gstreamer::Surfaces* TENON_SURFACES_SYMBOL() {
  return new VaSurfaces;
}
