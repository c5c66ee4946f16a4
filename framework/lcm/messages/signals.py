"""Messages of values in general: headers, points, signals, states of robots."""

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
