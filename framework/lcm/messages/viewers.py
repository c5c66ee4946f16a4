"""Messages to viewers: what there is to see, where it is, and contacts."""

from merganser.framework.lcm.message import define_messages
from merganser.framework.lcm.messages.signals import lcmt_point

(
    lcmt_viewer_command,
    lcmt_viewer_geometry_data,
    lcmt_viewer_link_data,
    lcmt_viewer_load_robot,
    lcmt_viewer_draw,
) = define_messages(
    __name__,
    """
    struct lcmt_viewer_command {
      const int8_t STATUS = 0, LOAD_MODEL = 1, LOAD_RENDERER = 2, SHUTDOWN = 3, START_RECORDING = 4;
      const int8_t STOP_RECORDING = 5, LOAD_TERRAIN = 6, SET_TERRAIN_TRANSFORM = 7;
      int8_t command_type;
      string command_data;
    }
    struct lcmt_viewer_geometry_data {
      const int8_t BOX = 1, SPHERE = 2, CYLINDER = 3, MESH = 4, CAPSULE = 5, ELLIPSOID = 6;
      int8_t type;
      float position[3];                // in the link's frame [m]
      float quaternion[4];              // w, x, y, z
      float color[4];                   // red, green, blue, opacity
      string string_data;               // of a mesh: the path of its file, or JSON with the file itself
      int32_t num_float_data;
      float float_data[num_float_data]; // sizes [m]; scales of a mesh; or a mesh: number of vertices, of triangles,
    }                                   // coordinates of the vertices, vertices of the triangles
    struct lcmt_viewer_link_data {
      string name;
      int32_t robot_num;
      int32_t num_geom;
      lcmt_viewer_geometry_data geom[num_geom];
    }
    struct lcmt_viewer_load_robot {
      int32_t num_links;
      lcmt_viewer_link_data link[num_links];
    }
    struct lcmt_viewer_draw {
      int64_t timestamp;                // [ms]
      int32_t num_links;
      string link_name[num_links];
      int32_t robot_num[num_links];
      float position[num_links][3];     // in the world [m]
      float quaternion[num_links][4];   // w, x, y, z
    }
    """,
)

(
    lcmt_point_pair_contact_info_for_viz,
    lcmt_hydroelastic_quadrature_per_point_data_for_viz,
    lcmt_hydroelastic_contact_surface_for_viz,
    lcmt_contact_results_for_viz,
) = define_messages(
    __name__,
    """
    struct lcmt_point_pair_contact_info_for_viz {
      int64_t timestamp;                // [us]
      string body1_name;
      string body2_name;
      double contact_point[3];          // in the world, as all here
      double contact_force[3];          // on body 2 [N]
      double normal[3];
    }
    struct lcmt_hydroelastic_quadrature_per_point_data_for_viz {
      double p_WQ[3];
      double vt_BqAq_W[3];              // tangential velocity of A in B [m/s]
      double traction_Aq_W[3];          // [Pa]
    }
    struct lcmt_hydroelastic_contact_surface_for_viz {
      string geometry1_name;
      string body1_name;
      string model1_name;
      boolean body1_unique;             // whether no other body has this name
      int32_t collision_count1;         // geometries of the body with a proximity role
      string geometry2_name;
      string body2_name;
      string model2_name;
      boolean body2_unique;
      int32_t collision_count2;
      double centroid_W[3];
      double force_C_W[3];              // on body 1 at the centroid [N]
      double moment_C_W[3];             // [N m]
      int32_t num_quadrature_points;
      lcmt_hydroelastic_quadrature_per_point_data_for_viz quadrature_point_data[num_quadrature_points];
      int32_t num_vertices;
      lcmt_point p_WV[num_vertices];
      double pressure[num_vertices];    // [Pa]
      int32_t poly_data_int_count;
      int32_t poly_data[poly_data_int_count];  // of each polygon the number of its vertices, then the vertices
    }
    struct lcmt_contact_results_for_viz {
      int64_t timestamp;                // [us]
      int32_t num_point_pair_contacts;
      lcmt_point_pair_contact_info_for_viz point_pair_contact_info[num_point_pair_contacts];
      int32_t num_hydroelastic_contacts;
      lcmt_hydroelastic_contact_surface_for_viz hydroelastic_contacts[num_hydroelastic_contacts];
    }
    """,
    lcmt_point,
)
