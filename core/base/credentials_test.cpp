// SPDX-License-Identifier: Apache-2.0
// No password is left in a text, and other texts stay as they are.
#include <tenon/core/credentials.hpp>

#include <gtest/gtest.h>

namespace tenon {
namespace credentials_test {

TEST(Credentials, AreTakenOutOfAddresses) {
  EXPECT_EQ(without_credentials("rtsp://admin:s3cret@10.0.0.7:554/h264?channel=1"),
            "rtsp://***@10.0.0.7:554/h264?channel=1");
  EXPECT_EQ(without_credentials("video \"rtsps://u:p@h/x\" cannot be opened"),
            "video \"rtsps://***@h/x\" cannot be opened");
  EXPECT_EQ(without_credentials("rtsp://user@host/x"), "rtsp://***@host/x");
  EXPECT_EQ(without_credentials("rtsp://u:p@ss@host/x"), "rtsp://***@host/x");
  EXPECT_EQ(without_credentials("rtsp://u:p/a?b@host/x"), "rtsp://***@host/x") << "signs that are not escaped";
  EXPECT_EQ(without_credentials("http://cam/video?user=me&password=s3cret&fps=5"),
            "http://cam/video?user=me&password=***&fps=5");
  EXPECT_EQ(without_credentials("http://cam/video?Token=s3cret"), "http://cam/video?Token=***");
  EXPECT_EQ(without_credentials("http://cam/video?access_token=s3cret&Api-Key=s3cret#top"),
            "http://cam/video?access_token=***&Api-Key=***");
  EXPECT_EQ(without_credentials("a://u:p@b and c://d:e@f"), "a://***@b and c://***@f");
}

TEST(Credentials, LeaveOtherTextsAlone) {
  for (const char* text :
       {"", "clip.mp4", "a@b.example", "file:clip@2x.mp4", "http://host:8080/me@home.jpg", "rtsp://[::1]:554/x@y",
        "://", "http://host/x?passport=1&", "http://host/x?key_frames=1", "pad value=3"})
    EXPECT_EQ(without_credentials(text), text);
}

TEST(Credentials, ParametersThatAreSecretAreNotShown) {
  EXPECT_EQ(shown_value("password", "s3cret"), "***");
  EXPECT_EQ(shown_value("password", ""), "");
  EXPECT_EQ(shown_value("sasl_password", "s3cret"), "***");
  EXPECT_EQ(shown_value("path", "rtsp://u:p@h"), "rtsp://***@h");
  EXPECT_EQ(shown_value("frames", "3"), "3");
}

}  // namespace credentials_test
}  // namespace tenon
