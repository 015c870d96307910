/* SPDX-License-Identifier: Apache-2.0 */
/* Frames. Generated from api/frame.toml by generate.py. */
/* clang-format off */
#ifndef TENON_BINDINGS_C_FRAME_H
#define TENON_BINDINGS_C_FRAME_H

#include <tenon/bindings/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pictures, each with a format and its planes. */

/* DRM fourcc codes. DRM names packed RGB by little-endian words: bytes R, G, B in memory are BG24. */
#define TENON_FOURCC(a, b, c, d) \
  ((uint32_t)(uint8_t)(a) | (uint32_t)(uint8_t)(b) << 8 | (uint32_t)(uint8_t)(c) << 16 | (uint32_t)(uint8_t)(d) << 24)
#define TENON_FORMAT_GRAY8 TENON_FOURCC('R', '8', ' ', ' ')
#define TENON_FORMAT_NV12 TENON_FOURCC('N', 'V', '1', '2')
#define TENON_FORMAT_P010 TENON_FOURCC('P', '0', '1', '0')
#define TENON_FORMAT_I420 TENON_FOURCC('Y', 'U', '1', '2')
#define TENON_FORMAT_RGB24 TENON_FOURCC('B', 'G', '2', '4')
#define TENON_FORMAT_BGR24 TENON_FOURCC('R', 'G', '2', '4')
#define TENON_FORMAT_RGBA TENON_FOURCC('A', 'B', '2', '4')
#define TENON_FORMAT_BGRA TENON_FOURCC('A', 'R', '2', '4')
/* A frame without a timestamp. */
#define TENON_NO_TIMESTAMP INT64_MIN

/* Matrix between YUV and RGB. */
typedef int32_t tenon_colour_space_t;
enum {
  TENON_COLOUR_SPACE_UNKNOWN = 0, /* BT.709 from 720 rows on, else BT.601. */
  TENON_COLOUR_SPACE_BT601 = 1,
  TENON_COLOUR_SPACE_BT709 = 2,
  TENON_COLOUR_SPACE_BT2020 = 3
};

/* Range of the samples. */
typedef int32_t tenon_colour_range_t;
enum {
  TENON_COLOUR_RANGE_UNKNOWN = 0, /* Limited for YUV, full for RGB. */
  TENON_COLOUR_RANGE_LIMITED = 1,
  TENON_COLOUR_RANGE_FULL = 2
};

/* How far a stored picture is to be turned, clockwise, to be upright. */
typedef int32_t tenon_rotation_t;
enum {
  TENON_ROTATION_NONE = 0,
  TENON_ROTATION_90 = 1,
  TENON_ROTATION_180 = 2,
  TENON_ROTATION_270 = 3
};

/* Format, size and colours of a picture. */
typedef struct tenon_frame_info {
  size_t struct_size;
  uint32_t fourcc;
  uint64_t modifier; /* 0: linear. */
  uint32_t width_px; /* As stored: of the planes. */
  uint32_t height_px;
  tenon_colour_space_t colour_space;
  tenon_colour_range_t colour_range;
  tenon_rotation_t rotation; /* Planes lie as stored; models see the picture upright. */
} tenon_frame_info_t;

/* A plane's memory. This struct never changes. */
typedef struct tenon_plane {
  void* data;
  size_t pitch_bytes; /* Distance between rows. */
} tenon_plane_t;

/*
 * The part of the upright picture that a model sees, and the part of the model's input that it fills: maps results
 * back.
 */
typedef struct tenon_frame_geometry {
  size_t struct_size;
  uint64_t crop_x;
  uint64_t crop_y;
  uint64_t crop_width;
  uint64_t crop_height;
  uint64_t placed_x;
  uint64_t placed_y;
  uint64_t placed_width;
  uint64_t placed_height;
} tenon_frame_geometry_t;

/* An object in a picture, in pixels of the picture; pixel i covers i to i + 1. */
typedef struct tenon_detection {
  size_t struct_size;
  float x1;
  float y1;
  float x2;
  float y2;
  const char* label; /* NULL: none. */
  int32_t label_id; /* -1: none. */
  float score; /* 0 to 1. */
  int64_t track_id; /* The same object in other pictures; -1: not tracked. */
} tenon_detection_t;

/* Allocates host memory for all planes, with rows aligned to 64 bytes. */
TENON_C_API tenon_status_t tenon_frame_create(const tenon_frame_info_t* info, tenon_frame_t** out);

/*
 * Creates a frame over the caller's planes. `release` is called as in tenon_tensor_wrap, once for all planes.
 * planes: plane_count elements. release NULL: not called. user NULL: passed on.
 */
TENON_C_API tenon_status_t tenon_frame_wrap(const tenon_frame_info_t* info, const tenon_plane_t* planes,
    size_t plane_count, tenon_release_t release, void* user, tenon_frame_t** out);

/* Format, size, colours and rotation. info->struct_size must be set. */
TENON_C_API tenon_status_t tenon_frame_get_info(const tenon_frame_t* frame, tenon_frame_info_t* info);

/* Number of planes. */
TENON_C_API size_t tenon_frame_plane_count(const tenon_frame_t* frame);

/*
 * A plane as a tensor [rows, columns] or [rows, columns, samples]; its byte strides are the pitch.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_frame_plane(const tenon_frame_t* frame, size_t index, tenon_tensor_t** out);

/* The timestamp in nanoseconds on the stream's own clock; TENON_NO_TIMESTAMP if there is none. */
TENON_C_API int64_t tenon_frame_timestamp(const tenon_frame_t* frame);

/* Sets the timestamp, in nanoseconds. */
TENON_C_API tenon_status_t tenon_frame_set_timestamp(tenon_frame_t* frame, int64_t timestamp_ns);

/* Another handle to the same picture: memory and metadata are shared, nothing is copied. */
TENON_C_API tenon_status_t tenon_frame_share(const tenon_frame_t* frame, tenon_frame_t** out);

/* Adds an object to what is known about the picture. Its label is copied. */
TENON_C_API tenon_status_t tenon_frame_add_detection(tenon_frame_t* frame, const tenon_detection_t* detection);

/* Objects that are known. */
TENON_C_API size_t tenon_frame_detection_count(const tenon_frame_t* frame);

/*
 * An object by position. Its label is valid until the picture's metadata change.
 * Statuses: OUT_OF_RANGE.
 */
TENON_C_API tenon_status_t tenon_frame_get_detection(const tenon_frame_t* frame, size_t index,
    tenon_detection_t* detection);

/* All that is known about the picture, as a line of JSON. */
TENON_C_API tenon_status_t tenon_frame_metadata_json(const tenon_frame_t* frame, char** out);

/* Frees the handle. */
TENON_C_API void tenon_frame_free(tenon_frame_t* frame);

#ifdef __cplusplus
}
#endif

#endif
