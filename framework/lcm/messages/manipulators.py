"""Messages of robots: commands and status of arms, hands and grippers, also of Drake's examples; and of `call_python`.

Positions of joints are in rad, velocities in rad/s, torques in N m, times (utime) in microseconds.
"""

from merganser.framework.lcm.message import define_messages
from merganser.framework.lcm.messages.signals import lcmt_force_torque

lcmt_iiwa_command, lcmt_iiwa_status, lcmt_iiwa_status_telemetry = define_messages(
    __name__,
    """
    struct lcmt_iiwa_command {
      int64_t utime;
      int32_t num_joints;
      double joint_position[num_joints];
      int32_t num_torques;                          // 0, or as many as there are joints
      double joint_torque[num_torques];
    }
    struct lcmt_iiwa_status {
      int64_t utime;
      int32_t num_joints;
      double joint_position_measured[num_joints];
      double joint_velocity_estimated[num_joints];
      double joint_position_commanded[num_joints];
      double joint_position_ipo[num_joints];
      double joint_torque_measured[num_joints];     // of the opposite sign than in a plant, as are the next ones
      double joint_torque_commanded[num_joints];
      double joint_torque_external[num_joints];     // of the sign in a plant
    }
    struct lcmt_iiwa_status_telemetry {
      int64_t host_utime;
      int64_t iiwa_utime;
      int64_t estimated_dt_host_minus_iiwa;
    }
    """,
)

lcmt_panda_command, lcmt_panda_status = define_messages(
    __name__,
    """
    struct lcmt_panda_command {
      int64_t utime;
      int32_t num_joint_position;
      double joint_position[num_joint_position];
      int32_t num_joint_velocity;
      double joint_velocity[num_joint_velocity];
      int32_t num_joint_torque;
      double joint_torque[num_joint_torque];
      int8_t control_mode_expected;                 // bits of lcmt_panda_status.CONTROL_MODE_...
    }
    struct lcmt_panda_status {
      const int8_t kOther = 0, kIdle = 1, kMove = 2, kGuiding = 3, kReflex = 4, kUserStopped = 5;
      const int8_t kAutomaticErrorRecovery = 6;
      const int8_t CONTROL_MODE_POSITION = 1, CONTROL_MODE_VELOCITY = 2, CONTROL_MODE_TORQUE = 4;
      int64_t utime;
      int32_t num_joints;
      double joint_position[num_joints];
      double joint_position_desired[num_joints];
      double joint_velocity[num_joints];
      double joint_velocity_desired[num_joints];
      double joint_acceleration_desired[num_joints];
      double joint_torque[num_joints];
      double joint_torque_desired[num_joints];
      double joint_torque_external[num_joints];
      double control_command_success_rate;
      int8_t robot_mode;
      int64_t robot_utime;
      int8_t control_mode;
    }
    """,
)

lcmt_schunk_wsg_command, lcmt_schunk_wsg_status = define_messages(
    __name__,
    """
    struct lcmt_schunk_wsg_command {
      int64_t utime;
      double target_position_mm;                    // between the fingers
      double force;                                 // at most [N]
    }
    struct lcmt_schunk_wsg_status {
      int64_t utime;
      double actual_position_mm;
      double actual_force;
      double actual_speed_mm_per_s;
    }
    """,
)

lcmt_jaco_command, lcmt_jaco_status, lcmt_allegro_command, lcmt_allegro_status = define_messages(
    __name__,
    """
    struct lcmt_jaco_command {
      int64_t utime;
      int32_t num_joints;
      double joint_position[num_joints];
      double joint_velocity[num_joints];
      int32_t num_fingers;
      double finger_position[num_fingers];
      double finger_velocity[num_fingers];
    }
    struct lcmt_jaco_status {
      int64_t utime;
      int32_t num_joints;
      double joint_position[num_joints];
      double joint_velocity[num_joints];
      double joint_torque[num_joints];
      double joint_torque_external[num_joints];
      double joint_current[num_joints];
      int32_t num_fingers;
      double finger_position[num_fingers];
      double finger_velocity[num_fingers];
      double finger_torque[num_fingers];
      double finger_torque_external[num_fingers];
      double finger_current[num_fingers];
    }
    struct lcmt_allegro_command {
      int64_t utime;
      int32_t num_joints;
      double joint_position[num_joints];
      int32_t num_torques;
      double joint_torque[num_torques];
    }
    struct lcmt_allegro_status {
      int64_t utime;
      int32_t num_joints;
      double joint_position_measured[num_joints];
      double joint_velocity_estimated[num_joints];
      double joint_position_commanded[num_joints];
      double joint_torque_commanded[num_joints];
    }
    """,
)


lcmt_acrobot_x, lcmt_acrobot_u, lcmt_acrobot_y, lcmt_call_python_data, lcmt_call_python = define_messages(
    __name__,
    """
    struct lcmt_acrobot_x {
      int64_t timestamp;                // [ms]
      double theta1, theta1Dot, theta2, theta2Dot;
    }
    struct lcmt_acrobot_u {
      int64_t timestamp;
      double tau;
    }
    struct lcmt_acrobot_y {
      int64_t timestamp;
      double theta1, theta2, tau;
    }
    struct lcmt_call_python_data {
      const int8_t REMOTE_VARIABLE_REFERENCE = 0, DOUBLE = 1, CHAR = 2, LOGICAL = 3, INT = 4;
      const int8_t MATRIX = 0, VECTOR = 1, SCALAR = 2;
      int8_t data_type;
      int8_t shape_type;
      int32_t rows;
      int32_t cols;
      int32_t num_bytes;
      byte data[num_bytes];
    }
    struct lcmt_call_python {
      string function_name;
      int64_t lhs;
      int32_t num_rhs;
      lcmt_call_python_data rhs[num_rhs];
    }
    """,
)

(
    lcmt_planar_plant_state,
    lcmt_planar_manipuland_status,
    lcmt_planar_gripper_finger_command,
    lcmt_planar_gripper_command,
    lcmt_planar_gripper_finger_status,
    lcmt_planar_gripper_status,
    lcmt_planar_gripper_finger_face_assignment,
    lcmt_planar_gripper_finger_face_assignments,
) = define_messages(
    __name__,
    """
    struct lcmt_planar_plant_state {
      int64_t utime;
      int32_t num_states;
      double plant_state[num_states];
    }
    struct lcmt_planar_manipuland_status {
      int64_t utime;
      double position[2];               // [m]
      double theta;                     // [rad]
      double velocity[2];
      double thetadot;
    }
    struct lcmt_planar_gripper_finger_command {
      double joint_position[2];
      double joint_velocity[2];
      double joint_torque[2];
    }
    struct lcmt_planar_gripper_command {
      int64_t utime;
      int8_t num_fingers;
      lcmt_planar_gripper_finger_command finger_command[num_fingers];
    }
    struct lcmt_planar_gripper_finger_status {
      double joint_position[2];
      double joint_velocity[2];
      lcmt_force_torque fingertip_force;
    }
    struct lcmt_planar_gripper_status {
      int64_t utime;
      int8_t num_fingers;
      lcmt_planar_gripper_finger_status finger_status[num_fingers];
    }
    struct lcmt_planar_gripper_finger_face_assignment {
      int64_t utime;
      string finger_name;
      string brick_face_name;
      double p_BoBq_B[2];               // [m]
      boolean is_in_contact;
    }
    struct lcmt_planar_gripper_finger_face_assignments {
      int64_t utime;
      int32_t num_fingers;
      lcmt_planar_gripper_finger_face_assignment finger_face_assignments[num_fingers];
    }
    """,
    lcmt_force_torque,
)
