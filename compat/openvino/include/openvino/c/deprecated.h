/* SPDX-License-Identifier: Apache-2.0
   Marks of what is deprecated. */
#pragma once

#undef OPENVINO_DEPRECATED
#undef OPENVINO_ENUM_DEPRECATED
#undef OPENVINO_DO_PRAGMA
#undef OPENVINO_SUPPRESS_DEPRECATED_START
#undef OPENVINO_SUPPRESS_DEPRECATED_END
#define OPENVINO_DEPRECATED(message) __attribute__((deprecated(message)))
#define OPENVINO_ENUM_DEPRECATED(message) OPENVINO_DEPRECATED(message)
#define OPENVINO_DO_PRAGMA(text) _Pragma(#text)
#define OPENVINO_SUPPRESS_DEPRECATED_START \
  OPENVINO_DO_PRAGMA(GCC diagnostic push) OPENVINO_DO_PRAGMA(GCC diagnostic ignored "-Wdeprecated-declarations")
#define OPENVINO_SUPPRESS_DEPRECATED_END OPENVINO_DO_PRAGMA(GCC diagnostic pop)
