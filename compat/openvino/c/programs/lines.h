/* SPDX-License-Identifier: Apache-2.0
   Lines that programs for OpenVINO's C API print. What they print for the original and for Tenon is the same. */
#pragma once

#include <openvino/c/openvino.h>
#include <stddef.h>
#include <stdint.h>

/** Prints a heading, and runs the program. */
void section(const char* name, void (*run)(void));
/** Prints a line. */
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
/** Prints what a call came to, and returns whether it was OK. */
bool came_to(const char* what, ov_status_e status);
/** Ends the program, saying where, if the call failed. */
#define MUST(call) must(call, #call, __FILE__, __LINE__)
void must(ov_status_e status, const char* call, const char* file, int line);
/** Prints what a call that fails came to, and whether the last error has this part. */
void refused(const char* what, ov_status_e status, const char* part);
/** Prints whether a call failed: whether it is an error or not implemented is the device's choice. */
void fails(const char* what, ov_status_e status);
ov_shape_t shape_of(int64_t rank, const int64_t* dims);
void say_shape(const char* what, const ov_shape_t* shape);
void say_partial_shape(const char* what, ov_partial_shape_t shape);
void say_floats(const char* what, const ov_tensor_t* tensor, size_t most);
void say_port(const char* what, const ov_output_const_port_t* port);
/** Compares what was printed with a file, line by line, and says what differs: 0 if nothing does. Without a file, it is printed. */
int done(const char* path);
