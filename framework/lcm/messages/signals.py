"""Messages of values and of sensors: headers, points, signals, states of robots, images and point clouds."""

from __future__ import annotations

from merganser.framework.lcm.message import define_messages

(
    lcmt_header,
    lcmt_point,
    lcmt_quaternion,
    lcmt_scope,
    lcmt_drake_signal,
    lcmt_force_torque,
    lcmt_robot_state,
    lcmt_robot_plan,
) = define_messages(
    __name__,
    """
    struct lcmt_header {
      int32_t seq;
      int64_t utime;                    // [us]
      string frame_name;
    }
    struct lcmt_point {
      double x, y, z;                   // [m]
    }
    struct lcmt_quaternion {
      double w, x, y, z;
    }
    struct lcmt_scope {
      int64_t utime;                    // [us]
      int32_t size;
      double value[size];
    }
    struct lcmt_drake_signal {
      int32_t dim;
      double val[dim];
      string coord[dim];                // names of the values
      int64_t timestamp;                // [ms]
    }
    struct lcmt_force_torque {
      int64_t timestamp;                // [us]
      double fx, fy, fz;                // [N]
      double tx, ty, tz;                // [N m]
    }
    struct lcmt_robot_state {
      int64_t utime;                    // [us]
      int16_t num_joints;
      string joint_name[num_joints];
      float joint_position[num_joints]; // [rad] or [m]
    }
    struct lcmt_robot_plan {
      int64_t utime;                    // [us]
      int32_t num_states;
      lcmt_robot_state plan[num_states];
    }
    """,
)


lcmt_image, lcmt_image_array, lcmt_point_cloud_field, lcmt_point_cloud = define_messages(
    __name__,
    """
    struct lcmt_image {
      const int8_t PIXEL_FORMAT_GRAY = 0, PIXEL_FORMAT_RGB = 1, PIXEL_FORMAT_BGR = 2, PIXEL_FORMAT_RGBA = 3;
      const int8_t PIXEL_FORMAT_BGRA = 4, PIXEL_FORMAT_DEPTH = 5, PIXEL_FORMAT_LABEL = 6, PIXEL_FORMAT_MASK = 7;
      const int8_t PIXEL_FORMAT_DISPARITY = 8, PIXEL_FORMAT_BAYER_BGGR = 9, PIXEL_FORMAT_BAYER_RGGB = 10;
      const int8_t PIXEL_FORMAT_BAYER_GBRG = 11, PIXEL_FORMAT_BAYER_GRBG = 12, PIXEL_FORMAT_INVALID = -1;
      const int8_t CHANNEL_TYPE_INT8 = 0, CHANNEL_TYPE_UINT8 = 1, CHANNEL_TYPE_INT16 = 2, CHANNEL_TYPE_UINT16 = 3;
      const int8_t CHANNEL_TYPE_INT32 = 4, CHANNEL_TYPE_UINT32 = 5, CHANNEL_TYPE_FLOAT32 = 6;
      const int8_t CHANNEL_TYPE_FLOAT64 = 7, CHANNEL_TYPE_INVALID = -1;
      const int8_t COMPRESSION_METHOD_NOT_COMPRESSED = 0, COMPRESSION_METHOD_ZLIB = 1, COMPRESSION_METHOD_JPEG = 2;
      const int8_t COMPRESSION_METHOD_PNG = 3, COMPRESSION_METHOD_INVALID = -1;
      lcmt_header header;
      int32_t width;
      int32_t height;
      int32_t row_stride;               // bytes from one row to the next, when not compressed
      int32_t size;
      byte data[size];
      boolean bigendian;
      int8_t pixel_format;
      int8_t channel_type;
      int8_t compression_method;
    }
    struct lcmt_image_array {
      lcmt_header header;
      int32_t num_images;
      lcmt_image images[num_images];
    }
    struct lcmt_point_cloud_field {
      const int8_t INT8 = 1, UINT8 = 2, INT16 = 3, UINT16 = 4, INT32 = 5, UINT32 = 6, FLOAT32 = 7, FLOAT64 = 8;
      string name;
      int32_t byte_offset;              // in a point
      int8_t datatype;
      int32_t count;
    }
    struct lcmt_point_cloud {
      const int64_t IS_BIGENDIAN = 1, IS_STRICTLY_FINITE = 2;
      int64_t utime;                    // [us]
      string frame_name;
      int64_t width;
      int64_t height;
      int32_t num_fields;
      lcmt_point_cloud_field fields[num_fields];
      int64_t flags;                    // bits of IS_...
      int32_t point_step;               // bytes from one point to the next
      int64_t row_step;
      int16_t filler_size;
      byte filler[filler_size];
      int64_t data_size;
      byte data[data_size];
    }
    """,
    lcmt_header,
)
